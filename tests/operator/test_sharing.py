"""Elastic jobs on a real API server with a real scheduler, in virtual time: growth, giving back, rights, and what is watched."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
from tests.cluster.manifests import job
from tests.operator.operator_cluster import NAMESPACE, PYTORCH, Cluster, FaultyClient, Object, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.client import interfaces
from traincrew.embedded.scheduler import Scheduler
from traincrew.model.resources import AUTOSCALERS, NODES, PODS, PRIORITY_CLASSES, RESOURCE_QUOTAS, Resource
from traincrew.scheduling.decisions import Profile

GPU = "nvidia.com/gpu"
ONE_NAMESPACE = settings.Operator(namespaces=(NAMESPACE,), metrics_address="0", health_address="0")


class ReadingClient(FaultyClient):
    """Records what is read, and may forbid it."""

    def __init__(self, inner: interfaces.Client, forbidden: str = "") -> None:
        super().__init__(inner)
        self.read: set[tuple[str, str]] = set()
        """Plural and label selector of every list."""
        self.watches: list[tuple[str, str]] = []
        """Of every watch that is open now."""
        self.forbidden = forbidden

    async def pages(self, resource: Resource, namespace: str | None, **options: Any) -> AsyncGenerator[interfaces.Page, None]:
        self.read.add((resource.plural, options.get("labels", "")))
        if resource.plural == self.forbidden:
            raise errors.Forbidden(f"{resource.plural} is forbidden")
        async with contextlib.aclosing(super().pages(resource, namespace, **options)) as pages:
            async for page in pages:
                yield page

    async def watch(
        self, resource: Resource, namespace: str | None, **options: Any
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        entry = (resource.plural, options.get("labels", ""))
        self.watches.append(entry)
        try:
            async with contextlib.aclosing(super().watch(resource, namespace, **options)) as changes:
                async for change in changes:
                    yield change
        finally:
            self.watches.remove(entry)

    def reads_of_sharing(self) -> set[tuple[str, str]]:
        return {entry for entry in self.read if entry in SHARING}


SHARING = {("nodes", ""), ("pods", ""), ("resourcequotas", ""), ("horizontalpodautoscalers", "")}


def elastic_job(workers: int = 2, max_replicas: int = 4, **annotations: str) -> Object:
    made: Object = job("PyTorchJob", Worker=workers, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": max_replicas}})
    texts = {"scaling": "idle", "checkpoint-seconds": "10", **annotations}
    made["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in texts.items()}
    container = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {GPU: "1"}}
    return made


class SharedMachine:
    """A node with devices: its scheduler is real, its pods run as soon as they are bound."""

    def __init__(self, on: Cluster, period: float = 1.0) -> None:
        """period: the seconds between two looks at the pods."""
        self._on, self._period = on, period
        self._terminating: set[str] = set()
        """UIDs of pods whose containers are being stopped, which takes one period."""

    async def add_node(self, name: str = "machine", gpus: int = 4) -> None:
        await self._on.client.create(NODES, None, json.dumps({"metadata": {"name": name}}).encode())
        amounts = {"cpu": "8", "memory": "64Gi", "pods": "100", GPU: str(gpus)}
        status = {"status": {"allocatable": amounts, "capacity": amounts}}
        await self._on.client.patch(NODES, None, name, json.dumps(status).encode(), subresource="status")

    async def run(self) -> None:
        while True:
            for pod in await self._on._list(PODS):
                await self._sync(pod)
            await asyncio.sleep(self._period)

    async def _sync(self, pod: Object) -> None:
        name = pod["metadata"]["name"]
        if "deletionTimestamp" in pod["metadata"] and pod["metadata"]["uid"] not in self._terminating:
            self._terminating.add(pod["metadata"]["uid"])
        elif "deletionTimestamp" in pod["metadata"]:
            with contextlib.suppress(errors.NotFound):
                await self._on.client.delete(PODS, NAMESPACE, name, grace=0)
        elif pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
            await self._on.set_phase(name, "Running")


@contextlib.asynccontextmanager
async def machine(on: Cluster, gpus: int = 4, period: float = 1.0) -> AsyncIterator[SharedMachine]:
    made = SharedMachine(on, period)
    await made.add_node(gpus=gpus)
    scheduler = Scheduler(on.control_plane.system_client("scheduler"), Profile())
    tasks = [asyncio.create_task(scheduler.run()), asyncio.create_task(made.run())]
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def elastic(on: Cluster) -> Object:
    found: Object = (await on.job())["status"].get("elastic", {})
    return found


async def create_pod(on: Cluster, name: str, gpus: int, **spec: Any) -> None:
    container = {"name": "main", "image": "x", "resources": {"limits": {GPU: str(gpus)}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}}
    await on.client.create(PODS, NAMESPACE, json.dumps(body).encode())


async def pod(on: Cluster, name: str) -> Object:
    found: Object = msgspec.json.decode(await on.client.get(PODS, NAMESPACE, name))
    return found


@in_virtual_time
async def test_without_a_job_that_asks_for_it_nothing_new_is_read(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        client = ReadingClient(on.control_plane.system_client("operator"))
        async with on.operator(client):
            await on.create(elastic_job(scaling="manual"))
            await asyncio.sleep(120)
            assert not client.reads_of_sharing()
            assert await on.pods() == ["j-worker-0", "j-worker-1"]
            assert "elastic" not in (await on.job())["status"]


@in_virtual_time
async def test_the_watches_begin_with_the_first_job_that_asks_for_them_and_end_with_the_last(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        client = ReadingClient(on.control_plane.system_client("operator"))
        async with on.operator(client):
            await on.create(elastic_job())
            await asyncio.sleep(30)
            assert set(client.watches) >= SHARING
            await on.client.delete(PYTORCH, NAMESPACE, "j")
            await asyncio.sleep(30)
            assert not SHARING & set(client.watches)


@in_virtual_time
async def test_a_job_grows_into_idle_devices_gives_them_back_and_grows_again(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        await on.create(elastic_job())
        await asyncio.sleep(60)
        assert await on.pods() == [f"j-worker-{index}" for index in range(4)]
        assert (await pod(on, "j-worker-3"))["spec"]["priority"] == -1000
        assert (await elastic(on))["why"]["reason"] == "AtMaximum"
        await asyncio.sleep(120)
        await create_pod(on, "other", 2)
        await asyncio.sleep(20)
        assert (await pod(on, "other"))["spec"]["nodeName"] == "machine"
        assert (await elastic(on))["members"] == "0-1"
        said = [message for reason, message in await on.events() if reason == "GaveBack"]
        assert any(text.endswith(f"to 2 workers: Pod default/other waits for 2 {GPU}") for text in said), said
        assert (await on.job())["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
        assert not (await on.job())["status"].get("restarts", {}).get("disruptions")
        await on.client.delete(PODS, NAMESPACE, "other")
        await asyncio.sleep(3000)
        assert (await elastic(on))["members"] == "0-3"


@in_virtual_time
async def test_a_default_mode_is_for_jobs_without_the_annotation_that_can_adapt(tmp_path: pathlib.Path) -> None:
    idle = settings.Operator(metrics_address="0", health_address="0", sharing=settings.Sharing(scaling_default="idle"))
    async with cluster(tmp_path) as on, machine(on), on.operator(options=idle):
        without = elastic_job()
        del without["metadata"]["annotations"]
        await on.create(without)
        rigid = job("PyTorchJob", name="rigid", Master=1, Worker=1)
        await on.create(rigid)
        await asyncio.sleep(60)
        assert await on.pods() == [*(f"j-worker-{index}" for index in range(4)), "rigid-master-0", "rigid-worker-0"]
        stored = await on.job()
        assert "annotations" not in stored["metadata"], "the job itself is not changed"
        assert stored["status"]["elastic"]["scaling"] == "idle"
        found = msgspec.json.decode(await on.client.get(PYTORCH, NAMESPACE, "rigid"))
        assert "elastic" not in found["status"]
        assert not [reason for reason, _ in await on.events() if reason == "NotShared"]


@in_virtual_time
async def test_a_claim_that_must_not_preempt_is_served_too(tmp_path: pathlib.Path) -> None:
    """The operator gives back what the scheduler cannot take, down to the minimum."""
    async with cluster(tmp_path) as on, machine(on), on.operator():
        await on.create(elastic_job(workers=4))
        await asyncio.sleep(200)
        await create_pod(on, "other", 3)
        await asyncio.sleep(300)
        assert (await pod(on, "other"))["spec"].get("nodeName") == "machine"
        assert (await elastic(on))["members"] == "0"


@in_virtual_time
async def test_a_job_that_waits_says_which_workers_leave_for_it(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        await on.create(elastic_job(workers=4))
        await asyncio.sleep(200)
        other = elastic_job(workers=2, scaling="manual")
        other["metadata"]["name"] = "other"
        await on.create(other)
        await asyncio.sleep(120)
        assert {"other-worker-0", "other-worker-1"} <= set(await on.pods())
        said = [message for reason, message in await on.events() if reason == "Unschedulable"]
        assert any("PyTorchJob default/j gives back workers 2, 3: pod" in text for text in said), said
        assert "PyTorchJob default/other waits for" in (await elastic(on))["lastResize"]["message"]


@in_virtual_time
async def test_no_worker_leaves_for_a_pod_whose_volume_does_not_exist(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        await on.create(elastic_job(workers=4))
        await asyncio.sleep(200)
        await create_pod(on, "other", 1, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        await asyncio.sleep(300)
        assert "not found" in (await pod(on, "other"))["status"]["conditions"][0]["message"]
        assert (await elastic(on))["members"] == "0-3"


@in_virtual_time
async def test_without_rights_the_job_says_so_and_is_scaled_by_hand(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        client = ReadingClient(on.control_plane.system_client("operator"), forbidden="nodes")
        async with on.operator(client):
            await on.create(elastic_job())
            await asyncio.sleep(60)
            state = await elastic(on)
            assert (state["scaling"], state["why"]["reason"]) == ("manual", "NotShared")
            assert "may not read nodes" in state["why"]["message"]
            change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}
            await on.client.patch(PYTORCH, NAMESPACE, "j", json.dumps(change).encode())
            await asyncio.sleep(60)
            assert await on.pods() == [f"j-worker-{index}" for index in range(3)]


@in_virtual_time
async def test_an_operator_for_one_namespace_says_that_it_cannot_see_nodes(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        client = ReadingClient(on.control_plane.system_client("operator"))
        async with on.operator(client, ONE_NAMESPACE):
            await on.create(elastic_job())
            await asyncio.sleep(60)
            assert "single namespaces cannot see nodes" in (await elastic(on))["why"]["message"]
            assert "nodes" not in {plural for plural, _ in client.read}


@in_virtual_time
async def test_a_job_with_an_autoscaler_of_its_own_gets_no_idle_devices(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        target = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j"}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4, "metrics": []}
        body = {"metadata": {"name": "hpa"}, "spec": spec}
        await on.client.create(AUTOSCALERS, NAMESPACE, json.dumps(body).encode())
        await on.create(elastic_job())
        await asyncio.sleep(200)
        state = await elastic(on)
        assert (state["members"], state["why"]["reason"]) == ("0-1", "Autoscaler")
        assert "HorizontalPodAutoscaler hpa" in state["why"]["message"]


@in_virtual_time
async def test_whoever_changes_replicas_is_obeyed_and_the_spec_is_not_written(tmp_path: pathlib.Path) -> None:
    """As an autoscaler does, and then `kubectl apply` of the first manifest."""
    async with cluster(tmp_path) as on, machine(on), on.operator():
        quick = {"scaling": "yield", "start-seconds": "1"}
        await on.create(elastic_job(2, 4, **quick))
        for changes, replicas in enumerate((4, 3, 2)):
            await asyncio.sleep(120)
            change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": replicas}}}}
            await on.client.patch(PYTORCH, NAMESPACE, "j", json.dumps(change).encode())
            for _ in range(10):
                await asyncio.sleep(60)
                assert (await elastic(on))["members"] == f"0-{replicas - 1}"
                assert await on.pods() == [f"j-worker-{index}" for index in range(replicas)]
            assert (await on.job())["metadata"]["generation"] == 2 + changes


@in_virtual_time
async def test_a_new_operator_continues_with_the_recorded_workers(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        async with on.operator():
            await on.create(elastic_job())
            await asyncio.sleep(60)
        before = {name: (await pod(on, name))["metadata"]["uid"] for name in await on.pods()}
        async with on.operator():
            await asyncio.sleep(120)
        assert {name: (await pod(on, name))["metadata"]["uid"] for name in await on.pods()} == before
        assert len(before) == 4


@in_virtual_time
async def test_while_no_operator_runs_the_scheduler_takes_workers_on_idle_devices_and_no_others(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        async with on.operator():
            await on.create(elastic_job())
            await asyncio.sleep(60)
            assert len(await on.pods()) == 4
        await create_pod(on, "other", 1)
        await asyncio.sleep(60)
        assert (await pod(on, "other"))["spec"]["nodeName"] == "machine"
        left = [name for name in await on.pods() if name != "other"]
        assert {"j-worker-0", "j-worker-1"} <= set(left)
        assert len(left) == 3
        async with on.operator():
            await asyncio.sleep(30)
            assert [name for name in await on.pods() if name != "other"] == left
            assert not (await on.job())["status"].get("restarts", {}).get("disruptions")


@in_virtual_time
async def test_workers_leave_a_node_that_announces_its_end(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on, gpus=2) as made, on.operator():
        await on.create(elastic_job(workers=2, max_replicas=4))
        await asyncio.sleep(100)
        await made.add_node("spare", gpus=4)
        taint = {"spec": {"taints": [{"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}]}}
        await on.client.patch(NODES, None, "machine", json.dumps(taint).encode())
        await asyncio.sleep(200)
        found = {name: (await pod(on, name))["spec"].get("nodeName") for name in await on.pods()}
        assert len(found) >= 2
        assert set(found.values()) == {"spare"}, "the node is empty, also of the host of the rendezvous"
        restarts = (await on.job())["status"]["restarts"]
        # Worker 1 has left, and worker 0, the host of the rendezvous, was replaced.
        assert (restarts["disruptions"], restarts.get("charged", 0)) == (2, 0)
        assert ("Noticed", "aws-node-termination-handler/spot-itn") in [
            (reason, message.partition("(")[2].rstrip(")")) for reason, message in await on.events()
        ]


@in_virtual_time
async def test_an_operator_that_restarts_all_the_time_never_exceeds_the_maximum_and_agrees_in_the_end(
    tmp_path: pathlib.Path,
) -> None:
    async with cluster(tmp_path) as on, machine(on):
        async with on.operator():
            await on.create(elastic_job())
            await asyncio.sleep(3)
        for number in range(40):
            if number % 10 == 4:
                await create_pod(on, f"other-{number}", 2)
            if number % 10 == 9:
                await on.client.delete(PODS, NAMESPACE, f"other-{number - 5}")
            async with on.operator():
                for _ in range(7 + number % 5):
                    await asyncio.sleep(1)
                    assert len([name for name in await on.pods() if "worker" in name]) <= 4
        async with on.operator():
            await asyncio.sleep(600)
            assert (await elastic(on))["members"] == "0-3"
            status = (await on.job())["status"]
            assert "failure" not in status
            assert not status.get("restarts", {}).get("charged")


@in_virtual_time
async def test_a_status_that_somebody_else_has_emptied_is_restored_from_the_pods(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        await on.create(elastic_job())
        await asyncio.sleep(60)
        await on.client.patch(PYTORCH, NAMESPACE, "j", b'{"status":{"elastic":null}}', subresource="status")
        await asyncio.sleep(120)
        assert (await elastic(on))["members"] in ("0-1", "0-3")
        assert len(await on.pods()) <= 4


@in_virtual_time
async def test_a_job_in_a_queue_of_kueue_gets_no_idle_devices(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        queued = elastic_job()
        queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
        await on.create(queued)
        await asyncio.sleep(200)
        state = await elastic(on)
        assert (state["members"], state["why"]["reason"]) == ("0-1", "Queue")
        assert "Kueue admits the job with 2 workers" in state["why"]["message"]


@in_virtual_time
async def test_without_the_priority_class_the_job_says_so_until_it_exists(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on), on.operator():
        stored = msgspec.json.decode(await on.client.get(PRIORITY_CLASSES, None, "traincrew-surplus"))
        await on.client.delete(PRIORITY_CLASSES, None, "traincrew-surplus")
        await on.create(elastic_job())
        await asyncio.sleep(60)
        state = await elastic(on)
        assert (state["scaling"], state["why"]["reason"]) == ("manual", "NotShared")
        assert "PriorityClass traincrew-surplus does not exist: install it with" in state["why"]["message"]
        body = {"metadata": {"name": "traincrew-surplus"}, "value": stored["value"], "preemptionPolicy": "Never"}
        await on.client.create(PRIORITY_CLASSES, None, json.dumps(body).encode())
        await asyncio.sleep(60)
        assert (await elastic(on))["members"] == "0-3"


async def keep_quota(on: Cluster) -> None:
    """Plays the quota controller."""
    while True:
        pods = await on._list(PODS)
        limits = [container["resources"]["limits"] for each in pods for container in each["spec"]["containers"]]
        used = {f"requests.{GPU}": str(sum(int(amounts[GPU]) for amounts in limits))}
        status = {"status": {"hard": {f"requests.{GPU}": "4"}, "used": used}}
        await on.client.patch(RESOURCE_QUOTAS, NAMESPACE, "small", json.dumps(status).encode(), subresource="status")
        await asyncio.sleep(1)


@contextlib.asynccontextmanager
async def quota(on: Cluster) -> AsyncIterator[None]:
    body = {"metadata": {"name": "small"}, "spec": {"hard": {f"requests.{GPU}": "4"}}}
    await on.client.create(RESOURCE_QUOTAS, NAMESPACE, json.dumps(body).encode())
    task = asyncio.create_task(keep_quota(on))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@in_virtual_time
async def test_workers_on_idle_devices_leave_for_a_job_whose_pods_their_quota_keeps_out(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on, gpus=8), quota(on), on.operator():
        await on.create(elastic_job())
        await asyncio.sleep(100)
        assert (await elastic(on))["members"] == "0-3"
        other = elastic_job(workers=2, scaling="manual")
        other["metadata"]["name"] = "other"
        await on.create(other)
        await asyncio.sleep(100)
        assert {"other-worker-0", "other-worker-1"} <= set(await on.pods())
        state = await elastic(on)
        assert state["members"] == "0-1"
        said = f"PyTorchJob default/other waits for 2 {GPU} of the quota of namespace default"
        assert said in state["lastResize"]["message"]


@in_virtual_time
async def test_a_worker_that_the_quota_refuses_is_reported_in_the_words_of_the_api_server(tmp_path: pathlib.Path) -> None:
    """The quota has a scope, which only the API server judges."""
    async with cluster(tmp_path) as on, machine(on, gpus=8), on.operator():
        scope = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["traincrew-surplus"]}]}
        body = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}, "scopeSelector": scope}}
        await on.client.create(RESOURCE_QUOTAS, NAMESPACE, json.dumps(body).encode())
        status = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
        await on.client.patch(RESOURCE_QUOTAS, NAMESPACE, "none", json.dumps(status).encode(), subresource="status")
        await on.create(elastic_job())
        await asyncio.sleep(60)
        state = await elastic(on)
        assert (state["members"], state["why"]["reason"]) == ("0-1", "Quota")
        assert "exceeded quota: none" in state["why"]["message"]
