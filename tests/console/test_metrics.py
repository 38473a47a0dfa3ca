"""Metrics of a job, nodes and queues, with a real cluster."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.console import job_activity, job_cache
from traincrew.diagnosis import hang
from traincrew.model.resources import CRDS

PATH = "jobs/default/jaxjob"


async def test_the_usage_and_the_loss_of_a_job_grow_while_its_metrics_are_open(browser: Browser) -> None:
    busy = "(while :; do :; done) & sleep 4"  # until the job is deleted: a rate needs two readings of the node
    script = f"for i in 1 2 3; do echo step=$i loss=0.$i; done; {busy}; echo loss=0.9; sleep 1000"
    await browser.create(job("measured", script, workers=2))
    await browser.until(f"{PATH}/measured", lambda found: found["summary"]["status"] == "Running")
    async with browser.stream() as stream:
        await stream.subscribe("metrics:default/jaxjob/measured")
        shown = (await stream.next("metrics.snapshot"))["data"]
        usage = {each["replica"]: each for each in shown["usage"]}
        output = {(each["replica"], each["name"]): each for each in shown["output"]}
        while not _is_complete(usage, output.get(("worker-1", "loss"))):
            patch = (await stream.next("metrics.patch"))["data"]
            for each in patch["usage"]:
                _append(usage.setdefault(each["replica"], each), each)
            for each in patch["output"]:
                _append(output.setdefault((each["replica"], each["name"]), each), each)
    assert output["worker-1", "loss"]["values"] == [0.1, 0.2, 0.3, 0.9]
    assert output["worker-1", "loss"]["steps"] == [1, 2, 3, None]
    assert output["worker-1", "loss"]["line"] == "loss=0.9"
    assert max(filter(None, usage["worker-0"]["memory"])) > 0
    assert max(filter(None, usage["worker-0"]["cpu"])) > 0
    complete = await browser.get(f"{PATH}/measured/metrics?replica=worker-1")
    assert {each["replica"] for each in complete["output"]} == {"worker-1"}
    assert len(complete["usage"]) == 2
    await browser.call("DELETE", f"{PATH}/measured")


def _is_complete(usage: dict[str, Any], loss: dict[str, Any] | None) -> bool:
    sampled = set(usage) == {"worker-0", "worker-1"} and len(usage["worker-1"]["times"]) > 1 and any(usage["worker-0"]["cpu"])
    return sampled and loss is not None and loss["values"][-1] == 0.9


def _append(known: dict[str, Any], new: dict[str, Any]) -> None:
    if known is not new:
        for name, value in new.items():
            known[name] = known[name] + value if isinstance(value, list) else value


async def test_the_metrics_of_a_finished_job_end_and_a_pattern_finds_other_numbers(browser: Browser) -> None:
    await browser.create(job("printed", "echo 'L<1.5> 7'; echo 'L<2.5> 8'"))
    await browser.until(f"{PATH}/printed", lambda found: found["summary"]["status"] == "Succeeded")
    async with browser.stream() as stream:
        await stream.subscribe(f"metrics:default/jaxjob/printed?pattern={'L<(?P<loss>[0-9.]%2B)>'}")
        found = (await stream.next("metrics.snapshot"))["data"]
        assert [(each["name"], each["values"]) for each in found["output"]] == [("loss", [1.5, 2.5])]
        assert (await stream.next("end"))["reason"] == "Finished"
        await stream.subscribe("metrics:default/jaxjob/printed?pattern=(")
        assert "not a regular expression" in (await stream.next("error"))["error"]["message"]
        await stream.subscribe("metrics:default/jaxjob/none")
        assert (await stream.next("error"))["error"]["reason"] == "NotFound"
    await browser.call("DELETE", f"{PATH}/printed")


async def test_a_pattern_is_tried_on_lines(browser: Browser) -> None:
    status, found = await browser.call("POST", "series:try", {"pattern": r"(?P<name>\w+)~(?P<value>\S+)", "text": "x\na~1 b~nan"})
    assert status == 200
    assert [(each["line"], each["name"], each["value"]) for each in found["matches"]] == [(2, "a", 1), (2, "b", None)]
    assert (await browser.call("POST", "series:try", {"text": "loss=3"}))[1]["matches"][0]["name"] == "loss"
    assert (await browser.call("POST", "series:try", {"pattern": "(", "text": ""}))[1]["reason"] == "Invalid"


async def test_replicas_have_their_ranks_and_the_annotation_gives_the_progress(browser: Browser) -> None:
    await browser.create(job("ranked", "sleep 1000", workers=2, annotations={"traincrew.kubeflow.org/progress": "3/4"}))
    found = await browser.until(f"{PATH}/ranked", lambda found: found["summary"]["status"] == "Running")
    assert {each["name"]: each["rank"] for each in found["replicas"]} == {"worker-0": 0, "worker-1": 1}
    assert found["summary"]["progress"] == {"fraction": 0.75, "text": "step 3 of 4", "source": "annotation"}
    await browser.call("DELETE", f"{PATH}/ranked")


async def test_a_running_job_shows_how_far_its_output_says_it_is(browser: Browser) -> None:
    await browser.create(job("prints", "echo Epoch 2/4; echo '50/100 [00:01<00:01]'; sleep 1000"))
    async with browser.stream() as stream:
        await stream.subscribe("jobs?q=prints")
        found = await stream.until(lambda message: any(each["progress"] for each in message["data"]["changed"]), "jobs.patch")
        (shown,) = found["data"]["changed"]
        assert shown["progress"] == {"fraction": 0.375, "text": "epoch 2 of 4, step 50 of 100", "source": "output"}
        detail = await browser.get(f"{PATH}/prints")
        assert detail["summary"]["progress"] == shown["progress"]
    await browser.call("DELETE", f"{PATH}/prints")


async def test_a_job_that_prints_and_computes_nothing_is_stalled(browser: Browser, machine: Machine) -> None:
    await browser.create(job("quiet", "sleep 1000", workers=2))
    await browser.until(f"{PATH}/quiet", lambda found: found["summary"]["status"] == "Running")
    limits = hang.HangLimits(dt.timedelta(seconds=1), dt.timedelta(seconds=1))
    async with RemoteClient(kubeconfig.load(str(machine.kubeconfig)), component="test") as client:
        cache = job_cache.JobCache(client, "default")
        activity = job_activity.JobActivity(client, cache, limits)
        async with cache.running(), asyncio.timeout(console_fixture.SECONDS):
            await cache.synced.wait()
            while not any(each.stalled for each in cache if each.name == "quiet"):
                await activity.examine()
                await asyncio.sleep(0.2)
            (found,) = [each for each in cache if each.name == "quiet"]
    assert found.stalled.startswith("no replica has printed anything for")
    await browser.call("DELETE", f"{PATH}/quiet")


async def test_nodes_have_their_usage(browser: Browser) -> None:
    found = await browser.until("nodes", lambda found: found["nodes"][0]["used"])
    assert set(found["nodes"][0]["used"]) == {"cpu", "memory"}
    assert found["notes"] == []


def resource(kind: str, plural: str, scope: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": schema}],
        },
    }


def stored(kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}, **parts}


async def test_queues_are_missing_with_a_reason_until_the_cluster_serves_them(browser: Browser, machine: Machine) -> None:
    before = await browser.get("queues")
    assert before["queues"] == []
    assert "Install Kueue or Volcano" in before["unavailable"]
    features = {each["name"]: each for each in (await browser.get("capabilities"))["features"]}
    assert not features["queues"]["available"]
    assert all(features[name]["available"] for name in ("nodes", "metrics", "exec"))
    types = [
        resource("LocalQueue", "localqueues", "Namespaced"),
        resource("ClusterQueue", "clusterqueues", "Cluster"),
        resource("Workload", "workloads", "Namespaced"),
    ]
    await browser.create(*types)
    try:
        await browser.until("queues", lambda found: not found["unavailable"] and not found["notes"])
        groups = [{"flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]
        await browser.create(
            stored("ClusterQueue", "all", spec={"resourceGroups": groups}),
            stored("LocalQueue", "team", spec={"clusterQueue": "all"}),
            stored("Workload", "w", spec={"queueName": "team"}),
        )
        found = await browser.get("queues")
        (queue,) = found["queues"]
        assert (queue["namespace"], queue["name"], queue["clusterQueue"]) == ("default", "team", "all")
        assert [(each["resource"], each["quota"]) for each in queue["resources"]] == [("cpu", "4")]
        assert [(each["name"], each["position"]) for each in queue["jobs"]] == [("w", 1)]
        features = {each["name"]: each for each in (await browser.get("capabilities"))["features"]}
        assert features["queues"]["available"]
    finally:
        await machine.delete(CRDS, *(each["metadata"]["name"] for each in types))
