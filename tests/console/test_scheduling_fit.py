"""Whether a job fits now, what if something were different, and runtime environments, on a real cluster of this machine."""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job

from traincrew.cli.local_cluster import console_machine
from traincrew.model.resources import Resource

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "envs"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}
PRIORITIES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Jobs of other tests use none of its memory, and the jobs that wait here keep no other test waiting."""
    with console_fixture.running_machine(tmp_path_factory.mktemp("console") / "data") as found:
        yield found


@pytest.fixture
async def local(machine: Machine, tmp_path: pathlib.Path) -> AsyncIterator[Browser]:
    """The console of the cluster of this machine."""
    one = console_machine.of(machine.data)
    async with console_fixture.console(machine.kubeconfig, tmp_path / "local", machine.data, one) as found:
        await found.sign_in()
        yield found


def sized(name: str, memory: int, workers: int = 1, script: str = "sleep 600") -> dict[str, object]:
    document = job(name, script, workers)
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"memory": str(memory)}}
    return document


async def free_memory(browser: Browser) -> int:
    (node,) = (await browser.get("nodes"))["nodes"]
    from traincrew.apimachinery import quantities

    return quantities.value(node["allocatable"]["memory"]) - quantities.value(node["requested"].get("memory", "0"))


async def test_a_manifest_fits_or_not_and_nothing_is_created(local: Browser) -> None:
    free = await free_memory(local)
    status, found = await local.call("POST", "fit", json.dumps(sized("fits", free // 4, 2)))
    assert status == 200, found
    (fit,) = found["jobs"]
    assert (found["estimate"], fit["verdict"], fit["placed"], fit["namespace"]) == (False, "fits", 2, "default")
    status, found = await local.call("POST", "fit", json.dumps(sized("fits", free // 4, 9)))
    (fit,) = found["jobs"]
    assert fit["verdict"] == "waits"
    assert 3 <= fit["placed"] <= 4
    assert "Insufficient memory" in fit["unplaced"][0]["message"]
    assert (await local.get("jobs?q=fits"))["total"] == 0
    status, error = await local.call("POST", "fit", "kind: [")
    assert (status, error["reason"]) == (422, "Invalid")
    assert (await local.call("POST", "fit", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))[0] == 422


async def test_on_another_cluster_the_answer_is_an_estimate(browser: Browser) -> None:
    _, found = await browser.call("POST", "fit", json.dumps(job("estimated", "true")))
    assert (found["estimate"], found["jobs"][0]["verdict"]) == (True, "fits")


async def test_what_if_a_waiting_job_were_smaller_more_important_or_alone(local: Browser, machine: Machine) -> None:
    await local.create(PRIORITY)
    free = await free_memory(local)
    await local.create(sized("holder", free // 2))
    await local.until("jobs/default/jaxjob/holder", lambda found: found["summary"]["status"] == "Running")
    await local.create(sized("waiting", free // 4, 3))
    await local.until("jobs/default/jaxjob/waiting", lambda found: found["summary"]["why"])
    path = "jobs/default/jaxjob/waiting:simulate"

    status, now = await local.call("POST", path, {})
    assert status == 200, now
    assert now["fit"]["verdict"] == "waits"
    assert now["workers"]["wanted"] == 3
    assert now["workers"]["startable"] in (1, 2)
    assert [each["name"] for each in now["holders"]] == ["holder"]
    assert {"name": "urgent", "value": 1000} in now["priorityClasses"]

    _, smaller = await local.call("POST", path, {"workers": now["workers"]["startable"]})
    _, urgent = await local.call("POST", path, {"priority": "urgent"})
    _, alone = await local.call("POST", path, {"without": ["default/jaxjob/holder"]})
    assert smaller["fit"]["verdict"] == "fits"
    assert (urgent["fit"]["verdict"], urgent["fit"]["preempted"]) == ("preempts", ["default/holder-worker-0"])
    assert alone["fit"]["verdict"] == "fits"
    for wrong in ({"workers": -1}, {"priority": "none"}, {"other": 1}):
        assert (await local.call("POST", path, wrong))[1]["reason"] == "Invalid"

    detail = await local.get("jobs/default/jaxjob/waiting")
    assert detail["summary"]["replicas"]["total"] == 3
    for name in ("holder", "waiting"):
        assert (await local.call("DELETE", f"jobs/default/jaxjob/{name}"))[0] == 200
    await machine.delete(PRIORITIES, "urgent")


async def test_environments_are_those_of_the_image_map_or_the_claims_of_a_namespace(
    local: Browser, browser: Browser, machine: Machine, tmp_path: pathlib.Path
) -> None:
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    for image in ("torch:1", "torch:2"):
        machine.traincrew("image", "set", image, "--env-dir", str(environment))
    found = await local.get("environments")
    assert {"directory": str(environment), "images": ["torch:1", "torch:2"]} in found["environments"]
    assert found["claims"] == []
    for image in ("torch:1", "torch:2"):
        machine.traincrew("image", "rm", image)
    await browser.create(CLAIM)
    found = await browser.get("environments?namespace=default")
    assert (found["environments"], found["claims"]) == ([], ["envs"])
