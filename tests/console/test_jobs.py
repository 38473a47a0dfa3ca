"""The list of jobs and the details of a job, with real jobs."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import pytest
import yaml
from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job

from traincrew.console import job_cache


async def test_the_list_shows_a_job_from_its_creation_to_its_end_while_it_is_open(browser: Browser) -> None:
    async with browser.stream() as stream:
        await stream.subscribe("jobs?q=lives")
        assert (await stream.next("jobs.snapshot"))["data"]["jobs"] == []
        await browser.create(job("lives", "sleep 0.5", workers=2))
        statuses: list[str] = []
        while "Succeeded" not in statuses:
            patch = await stream.next("jobs.patch")
            statuses += [each["status"] for each in patch["data"]["changed"] if each["name"] == "lives"]
        # Changes that follow each other quickly are one patch: the first one may show the job running already.
        assert statuses[0] in ("Starting", "Unknown", "Running")
        assert "Running" in statuses
        assert patch["data"]["counts"] == {"Succeeded": 1}
        await browser.call("DELETE", "jobs/default/jaxjob/lives")
        gone = await stream.until(lambda message: message["data"]["removed"], "jobs.patch")
    assert [(key["namespace"], key["kind"], key["name"]) for key in gone["data"]["removed"]] == [("default", "jaxjob", "lives")]
    assert gone["data"]["total"] == 0


async def test_a_page_that_comes_back_gets_what_it_missed_and_nothing_else(browser: Browser) -> None:
    await browser.create(job("stays", "sleep 1000"), job("goes", "sleep 1000"))
    await browser.until("jobs?status=Running&q=stays", lambda found: found["total"] == 1)
    await browser.until("jobs?status=Running&q=goes", lambda found: found["total"] == 1)
    async with browser.stream() as stream:
        await stream.subscribe("jobs")
        cursor = (await stream.next("jobs.snapshot"))["cursor"]
    await browser.call("DELETE", "jobs/default/jaxjob/goes")
    await browser.until("jobs?q=goes", lambda found: found["total"] == 0)
    await browser.create(job("comes", "sleep 1000"))
    await browser.until("jobs?status=Running&q=comes", lambda found: found["total"] == 1)
    async with browser.stream() as stream:
        await stream.subscribe("jobs", cursor=cursor)
        missed = await stream.next("jobs.patch", "jobs.snapshot")
    assert missed["type"] == "jobs.patch"
    assert [each["name"] for each in missed["data"]["changed"]] == ["comes"]
    assert [each["name"] for each in missed["data"]["removed"]] == ["goes"]
    for name in ("stays", "comes"):
        await browser.call("DELETE", f"jobs/default/jaxjob/{name}")


async def test_a_cursor_of_another_console_gives_a_snapshot(browser: Browser) -> None:
    async with browser.stream() as stream:
        await stream.subscribe("jobs", cursor="deadbeef.7")
        assert (await stream.next("jobs.patch", "jobs.snapshot"))["type"] == "jobs.snapshot"


async def test_a_list_that_has_lost_track_of_deletions_is_sent_again(
    machine: Machine, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_cache, "MAX_REMOVED", 1)
    async with console_fixture.console(machine.kubeconfig, tmp_path / "page") as browser:
        await browser.sign_in()
        names = {f"many-{number}" for number in range(4)}
        await browser.create(*(job(name, "sleep 1000") for name in sorted(names)))
        await browser.until("jobs?q=many-", lambda found: found["total"] == len(names))
        async with browser.stream() as stream:
            await stream.subscribe("jobs?q=many-")
            shown = {each["name"] for each in (await stream.next("jobs.snapshot"))["data"]["jobs"]}
            assert shown == names
            await asyncio.gather(*(browser.call("DELETE", f"jobs/default/jaxjob/{name}") for name in names))
            while shown:
                message = await stream.next("jobs.snapshot", "jobs.patch")
                if message["type"] == "jobs.snapshot":
                    shown = {each["name"] for each in message["data"]["jobs"]}
                else:
                    shown -= {each["name"] for each in message["data"]["removed"]}


async def test_a_job_of_v2beta1_is_shown_and_copied_as_such(browser: Browser) -> None:
    template = {"template": {"spec": {"containers": [{"name": "mpi", "image": "any", "command": ["sleep", "1000"]}]}}}
    document = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "newer"},
        "spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, **template}, "Worker": {"replicas": 1, **template}}},
    }
    await browser.create(document)
    shown = await browser.get("jobs/default/mpijob/newer/yaml")
    assert [yaml.safe_load(shown[part])["apiVersion"] for part in ("yaml", "submitted")] == ["kubeflow.org/v2beta1"] * 2
    assert (await browser.call("POST", "jobs/default/mpijob/newer:rerun"))[1]["name"] == "newer-2"
    again = await browser.get("jobs/default/mpijob/newer-2")
    assert again["summary"]["apiVersion"] == "kubeflow.org/v2beta1"
    for name in ("newer", "newer-2"):
        await browser.call("DELETE", f"jobs/default/mpijob/{name}")


async def test_the_details_of_a_failed_job_name_the_first_failure_its_evidence_and_the_remedy(browser: Browser) -> None:
    script = "[ $(hostname) = breaks-worker-1 ] && exec python3 -c 'import no_such_module'; sleep 1000"
    await browser.create(job("breaks", script, workers=2))
    async with browser.stream() as stream:
        await stream.subscribe("job:default/jaxjob/breaks")
        await stream.next("job.snapshot")
        await stream.until(
            lambda message: message["data"]["summary"] and message["data"]["summary"]["status"] == "Failed", "job.patch"
        )
    found = await browser.get("jobs/default/jaxjob/breaks")
    failure = found["diagnosis"]["failure"]
    assert (failure["replica"], failure["exitCode"], failure["final"]) == ("worker-1", 1, True)
    assert "no_such_module" in failure["cause"]
    assert any("ModuleNotFoundError" in line for line in failure["evidence"])
    assert "no_such_module" in failure["advice"]
    assert found["summary"]["why"]["message"].startswith("Worker 1 failed with exit code 1")
    phases = {each["replica"]: [phase["name"] for phase in each["phases"]] for each in found["timeline"]}
    assert phases["worker-1"] == ["Pending", "Starting", "Running", "Failed"]
    assert {each["name"]: each["allowed"] for each in found["actions"]} == {
        "suspend": False, "resume": False, "scale": False, "rerun": True, "delete": True,
    }  # fmt: skip
    assert any(event["objectKind"] == "JAXJob" for event in found["events"])


async def test_a_job_that_is_deleted_in_another_window_ends_its_topic(browser: Browser, machine: Machine) -> None:
    await browser.create(job("elsewhere", "sleep 1000"))
    async with browser.stream() as stream:
        await stream.subscribe("job:default/jaxjob/elsewhere")
        await stream.next("job.snapshot")
        machine.traincrew("delete", "elsewhere")
        assert (await stream.next("end"))["reason"] == "Deleted"
        await stream.subscribe("job:default/jaxjob/elsewhere")
        assert (await stream.next("error"))["error"]["reason"] == "NotFound"


async def test_a_job_is_suspended_resumed_run_again_and_deleted(browser: Browser) -> None:
    await browser.create(job("changes", "sleep 1000"))
    path = "jobs/default/jaxjob/changes"
    await browser.until(path, lambda found: found["summary"]["status"] == "Running")
    assert (await browser.call("POST", f"{path}:suspend"))[1]["message"] == "jaxjob/changes suspended"
    await browser.until(path, lambda found: found["summary"]["status"] == "Suspended" and not found["replicas"])
    status, error = await browser.call("POST", f"{path}:suspend")
    assert (status, error["reason"], error["message"]) == (409, "NotPossible", "the job is already suspended")
    status, again = await browser.call("POST", f"{path}:rerun")
    assert (status, again["name"]) == (200, "changes-2")
    await browser.until("jobs/default/jaxjob/changes-2", lambda found: found["summary"]["status"] == "Running")
    assert (await browser.call("POST", f"{path}:resume"))[0] == 200
    await browser.until(path, lambda found: found["summary"]["status"] == "Running")
    assert (await browser.call("POST", f"{path}:rerun", {"name": "changes-2"}))[1]["reason"] == "AlreadyExists"
    assert (await browser.call("POST", f"{path}:rerun"))[1]["name"] == "changes-3"
    uid = (await browser.get(path))["summary"]["uid"]
    assert (await browser.call("DELETE", path, {"uid": "another"}))[1]["reason"] == "Conflict"
    assert (await browser.call("DELETE", path, {"uid": uid}))[0] == 200
    for name in ("changes-2", "changes-3"):
        assert (await browser.call("DELETE", f"jobs/default/jaxjob/{name}"))[0] == 200


async def test_a_job_that_is_not_elastic_is_scaled_only_by_force(browser: Browser) -> None:
    await browser.create(job("grows", "sleep 1000"))
    path = "jobs/default/jaxjob/grows"
    await browser.until(path, lambda found: found["summary"]["status"] == "Running")
    status, error = await browser.call("POST", f"{path}:scale", {"replicas": 2})
    assert (status, error["reason"]) == (409, "NotPossible")
    assert "is not elastic" in error["message"]
    assert (await browser.call("POST", f"{path}:scale", {"replicas": 2, "force": True}))[0] == 200
    await browser.until(path, lambda found: len(found["replicas"]) == 2)
    assert (await browser.call("POST", f"{path}:scale", {"replicas": "two"}))[1]["reason"] == "Invalid"
    await browser.call("DELETE", path)


async def test_a_replica_has_its_command_and_variables_but_no_values_of_secrets(browser: Browser) -> None:
    document = job("replica", "sleep 1000")
    container: dict[str, Any] = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    secret = {"secretKeyRef": {"name": "db", "key": "password"}}
    container["env"] = [{"name": "PLAIN", "value": "text"}, {"name": "SECRET", "valueFrom": secret}]
    stored = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}}
    await browser.create(stored, document)
    await browser.until("jobs/default/jaxjob/replica", lambda found: found["summary"]["status"] == "Running")
    found = await browser.get("jobs/default/jaxjob/replica/replicas/worker-0")
    (shown,) = found["containers"]
    assert shown["command"] == ["sh", "-c", "sleep 1000"]
    variables = {each["name"]: (each["value"], each["source"]) for each in shown["env"]}
    assert variables["PLAIN"] == ("text", "")
    assert variables["SECRET"] == ("", "secret db, key password")
    assert "hunter2" not in str(found)
    assert (await browser.call("GET", "jobs/default/jaxjob/replica/replicas/worker-7"))[1]["reason"] == "NotFound"
    await browser.call("DELETE", "jobs/default/jaxjob/replica")


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        pytest.param("jobs/default/jaxjob/none", 404, "NotFound", id="no such job"),
        pytest.param("jobs/default/jaxjop/none", 404, "NotFound", id="no such kind"),
        pytest.param("jobs?sort=colour", 422, "Invalid", id="no such order"),
        pytest.param("jobs?label=%3D%3D", 422, "Invalid", id="no selector"),
        pytest.param("jobs/default/jaxjob/..%2F..%2Fsecrets/yaml", 422, "Invalid", id="a path in a name"),
        pytest.param("nothing", 404, "NotFound", id="no such path"),
    ],
)
async def test_every_error_has_the_one_shape(browser: Browser, path: str, status: int, reason: str) -> None:
    found, error = await browser.call("GET", path)
    assert (found, error["code"], error["reason"]) == (status, status, reason)
    assert set(error) == {"tried", "message", "reason", "code", "nextStep", "fields", "missingRight"}


async def test_capabilities_name_the_cluster_its_kinds_and_what_is_missing(browser: Browser) -> None:
    found = await browser.get("capabilities")
    assert found["mode"] == "embedded"
    assert "default" in found["namespaces"]
    assert {kind["kindName"] for kind in found["kinds"] if kind["installed"]} >= {"MPIJob", "PyTorchJob", "TFJob"}
    assert all(feature["available"] or feature["reason"] for feature in found["features"])


async def test_nodes_have_the_requests_and_jobs_of_their_pods(browser: Browser) -> None:
    await browser.create(job("busy", "sleep 1000"))
    await browser.until("jobs/default/jaxjob/busy", lambda found: found["summary"]["status"] == "Running")
    (node,) = (await browser.get("nodes"))["nodes"]
    assert node["ready"]
    assert "default/jaxjob/busy" in node["jobs"]
    await browser.call("DELETE", "jobs/default/jaxjob/busy")
