"""The desired status of a pod reaches the API server, whichever other client writes the pod and in whichever order."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from tests.embedded.controllers import in_process_cluster
from tests.embedded.controllers.in_process_cluster import Cluster, Object

from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.model.resources import PODS

POD = {"metadata": {"name": "train"}, "spec": {"containers": [{"name": "main", "image": "train:1"}]}}


class ReportedPod:
    """A managed pod with its status manager. No watch updates the pod: it sees its own writes and conflicts only."""

    def __init__(self, cluster: Cluster, pod: Object, directory: pathlib.Path) -> None:
        self.managed = ManagedPod(pod, PodStateDirectory(directory), "192.0.2.1", directory / "exec.sock")
        self.status = StatusManager(cluster.client, self.managed, PodCache(cluster.client, "node"))
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
