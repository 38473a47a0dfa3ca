"""What is wanted of a pod's status gets there, whoever else writes the pod and in whatever order the news of that arrive."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from tests.embedded.controllers import in_process_cluster
from tests.embedded.controllers.in_process_cluster import Cluster, Object

from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.model.resources import PODS

POD = {"metadata": {"name": "train"}, "spec": {"containers": [{"name": "main", "image": "train:1"}]}}


class Held:
    """What an agent holds of a pod: the answers to its own writes, and what it is shown. No watch tells it anything."""

    def __init__(self, there: Cluster, pod: Object) -> None:
        self.pod = pod
        self.wanted: Object = {}
        self.writer = StatusManager(there.client, lambda: self.pod, self._keep, self._look_again)

    def _keep(self, pod: Object) -> None:
        self.pod = pod

    def _look_again(self, pod: Object) -> None:
        self.pod = pod
        self.want(**self.wanted)

    def want(self, **changed: Any) -> None:
        self.wanted = changed
        self.writer.want({**self.pod["status"], **changed})


@contextlib.asynccontextmanager
async def written(there: Cluster) -> AsyncIterator[Held]:
    held = Held(there, await there.create(PODS, POD))
    task = asyncio.create_task(held.writer.run())
    try:
        yield held
    finally:
        task.cancel()


async def phase(there: Cluster) -> str:
    return str((await there.get(PODS, "train"))["status"]["phase"])


async def test_a_status_is_written_though_the_news_of_another_write_came_before_the_answer_to_ours(
    tmp_path: pathlib.Path,
) -> None:
    async with in_process_cluster.cluster(tmp_path) as there, written(there) as held:
        held.want(phase="Running")
        await held.writer.settled()
        await there.patch(PODS, "train", {"metadata": {"labels": {"by": "somebody"}}})  # the watch told of it already
        held.want(phase="Succeeded")
        await in_process_cluster.eventually(lambda: phase(there), lambda found: found == "Succeeded")


async def test_a_condition_that_somebody_else_set_meanwhile_is_kept(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as there, written(there) as held:
        other = {"type": "example.com/warm", "status": "True"}
        await there.patch(PODS, "train", {"status": {"conditions": [other]}}, "status")
        held.want(phase="Running")
        await held.writer.settled()
        pod = await there.get(PODS, "train")
        assert pod["status"]["phase"] == "Running"
        assert [each["type"] for each in pod["status"]["conditions"]] == ["example.com/warm"]


async def test_a_passing_status_is_not_written_if_another_follows_at_once(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as there, written(there) as held:
        before = (await there.get(PODS, "train"))["metadata"]["resourceVersion"]
        held.writer.want({**held.pod["status"], "reason": "Passing"}, passing=True)
        await asyncio.sleep(0)
        held.want(phase="Running")
        await held.writer.settled()
        pod = await there.get(PODS, "train")
        assert pod["status"]["phase"] == "Running"
        assert "reason" not in pod["status"]
        assert int(pod["metadata"]["resourceVersion"]) == int(before) + 1


async def test_a_passing_status_that_stays_is_written(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path) as there, written(there) as held:
        held.writer.want({**held.pod["status"], "reason": "Passing"}, passing=True)
        await held.writer.settled()
        assert (await there.get(PODS, "train"))["status"]["reason"] == "Passing"
