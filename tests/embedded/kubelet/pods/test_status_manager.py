"""The desired status of a pod reaches the API server, whichever other client writes the pod and in whichever order."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any, cast

from tests.embedded.controllers import in_process_cluster
from tests.embedded.controllers.in_process_cluster import Cluster, Object

from traincrew import errors
from traincrew.client import interfaces
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.model.resources import PODS

POD = {"metadata": {"name": "train"}, "spec": {"containers": [{"name": "main", "image": "train:1"}]}}


class SlowApiServer:
    """The client of an API server that answers late or refuses a read."""

    def __init__(self, client: interfaces.Client) -> None:
        self._client = client
        self.written = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()
        self.refused_reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, *args: Any, **options: Any) -> bytes:
        response = await self._client.patch(*args, **options)
        self.written.set()
        await self.answers.wait()
        return response

    async def get(self, *args: Any) -> bytes:
        if self.refused_reads:
            self.refused_reads -= 1
            raise errors.Forbidden("no relationship found between node 'node' and this object", code=403)
        return await self._client.get(*args)


class ReportedPod:
    """A managed pod with its status manager. No watch updates the pod: it sees its own writes and conflicts only."""

    def __init__(self, cluster: Cluster, pod: Object, directory: pathlib.Path) -> None:
        self.managed = ManagedPod(pod, PodStateDirectory(directory), "192.0.2.1", directory / "exec.sock")
        self.api = SlowApiServer(cluster.client)
        client = cast("interfaces.Client", self.api)
        self.status = StatusManager(client, self.managed, PodCache(client, "node"))
        self._desired: Object = {}

    def set_status(self, **fields: Any) -> None:
        self._desired = fields
        self.status.set_status({**self.managed.object["status"], **fields})

    async def sync(self) -> None:
        """As the pod worker does: after a conflict the desired status is computed again."""
        while True:
            await self.managed.changed.wait()
            self.managed.changed.clear()
            self.set_status(**self._desired)


@contextlib.asynccontextmanager
async def reported_pod(cluster: Cluster, directory: pathlib.Path) -> AsyncIterator[ReportedPod]:
    pod = ReportedPod(cluster, await cluster.create(PODS, POD), directory)
    tasks = [asyncio.create_task(pod.status.run()), asyncio.create_task(pod.sync())]
    try:
        yield pod
    finally:
        for task in tasks:
            task.cancel()


async def phase(cluster: Cluster) -> str:
    return str((await cluster.get(PODS, "train"))["status"]["phase"])


async def test_a_status_is_written_even_if_the_watch_reports_another_write_before_our_response_arrives(
    tmp_path: pathlib.Path,
) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        pod.set_status(phase="Running")
        await pod.status.wait_until_settled()
        await cluster.patch(
            PODS, "train", {"metadata": {"labels": {"by": "another-client"}}}
        )  # the watch has reported it already
        pod.set_status(phase="Succeeded")
        await in_process_cluster.eventually(lambda: phase(cluster), lambda found: found == "Succeeded")


async def test_a_condition_that_another_client_sets_meanwhile_is_kept(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        other = {"type": "example.com/warm", "status": "True"}
        await cluster.patch(PODS, "train", {"status": {"conditions": [other]}}, "status")
        pod.set_status(phase="Running")
        await pod.status.wait_until_settled()
        stored = await cluster.get(PODS, "train")
        assert stored["status"]["phase"] == "Running"
        assert [each["type"] for each in stored["status"]["conditions"]] == ["example.com/warm"]


async def test_a_transient_status_is_not_written_if_another_follows_at_once(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        before = (await cluster.get(PODS, "train"))["metadata"]["resourceVersion"]
        pod.status.set_status({**pod.managed.object["status"], "reason": "Transient"}, transient=True)
        await asyncio.sleep(0)
        pod.set_status(phase="Running")
        await pod.status.wait_until_settled()
        stored = await cluster.get(PODS, "train")
        assert stored["status"]["phase"] == "Running"
        assert "reason" not in stored["status"]
        assert int(stored["metadata"]["resourceVersion"]) == int(before) + 1


async def test_a_transient_status_that_lasts_is_written(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        pod.status.set_status({**pod.managed.object["status"], "reason": "Transient"}, transient=True)
        await pod.status.wait_until_settled()
        assert (await cluster.get(PODS, "train"))["status"]["reason"] == "Transient"


async def test_a_status_that_is_withdrawn_before_its_write_is_answered_does_not_stay(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        pod.api.answers.clear()
        pod.set_status(reason="Withdrawn")
        await pod.api.written.wait()
        pod.set_status()
        assert not pod.status.is_settled
        pod.api.answers.set()
        await pod.status.wait_until_settled()
        assert "reason" not in (await cluster.get(PODS, "train"))["status"]


async def test_a_later_pod_of_the_same_name_keeps_its_own_status(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        uid = pod.managed.uid
        await cluster.client.delete(PODS, "default", "train", grace=0)
        later = await cluster.create(PODS, POD)
        pod.set_status(phase="Failed")
        await pod.status.wait_until_settled()
        assert pod.managed.uid == uid
        assert await cluster.get(PODS, "train") == later


async def test_a_status_is_written_even_if_the_read_after_a_conflict_is_refused(tmp_path: pathlib.Path) -> None:
    """The Node authorizer learns of a pod a moment after the node does."""
    async with in_process_cluster.cluster(tmp_path) as cluster, reported_pod(cluster, tmp_path / "pod") as pod:
        await cluster.patch(PODS, "train", {"metadata": {"labels": {"by": "another-client"}}})
        pod.api.refused_reads = 1
        pod.set_status(phase="Running")
        await pod.status.wait_until_settled()
        assert await phase(cluster) == "Running"
