"""The taint eviction controller: deletes the pods that do not tolerate a NoExecute taint of their node, or no longer."""

from __future__ import annotations

import asyncio
import math

import msgspec

from traincrew import errors
from traincrew.client import clock, interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.event_recorder import NORMAL, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.nodes import evictions, taints
from traincrew.embedded.controllers.nodes.running_time import RunningTime
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import NODES, PODS
from traincrew.scheduling.objects import Taint

DISRUPTION = {
    "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}  # fmt: skip


class TaintEvictionController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers, running_time: RunningTime) -> None:
        self._client, self._running_time = client, running_time
        self._nodes, self._pods = informers.lister(NODES), informers.pods
        self._recorder = ControllerEventRecorder(client, "taint-eviction-controller")
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._taints: dict[str, tuple[Taint, ...]] = {}
        """The NoExecute taints of the nodes that have some."""
        self._since: dict[str, float] = {}
        """The running time from which on a pod, by UID, has tolerated taints for a limited time."""
        self._nodes.listeners.append(self._node_changed)
        self._pods.listeners.append(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("taint-eviction", self._queue, self._reconcile))

    def _node_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        node = new or old
        if node is None:
            return
        name = node.metadata.name
        listed = taints.of(new.body) if new is not None else []
        now = evictions.no_execute(msgspec.convert(each, Taint) for each in listed)
        if now == self._taints.get(name, ()):
            return
        if now:
            self._taints[name] = now
        else:
            del self._taints[name]
        for pod in self._pods:
            if pod.spec.node_name == name:
                self._queue.add((pod.metadata.namespace, pod.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._since.pop(old.metadata.uid, None)
        elif new.spec.node_name in self._taints:
            self._queue.add((new.metadata.namespace, new.metadata.name))

    async def _reconcile(self, key: NamespacedName) -> float | None:
        pod = self._pods.get(*key)
        if pod is None or pod.deleted:
            return None
        uid, listed = pod.metadata.uid, self._taints.get(pod.spec.node_name, ())
        seconds = evictions.tolerated_seconds(listed, pod.spec.tolerations)
        if math.isinf(seconds):
            if self._since.pop(uid, None) is not None:
                self._event(pod, "Cancelling deletion of Pod")
            return None
        now = self._running_time.now()
        left = self._since.setdefault(uid, now) + seconds - now
        if left > 0:
            return left
        self._event(pod, "Marking for deletion Pod")
        await self._evict(pod)
        return None

    async def _evict(self, pod: Pod) -> None:
        meta = pod.metadata
        condition = {**DISRUPTION, "lastTransitionTime": clock.timestamp()}
        body = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        data = msgspec.json.encode(body)
        try:
            await self._client.patch(PODS, meta.namespace, meta.name, data, subresource="status", type="strategic")
            await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid)
        except (errors.NotFound, errors.Conflict):
            return  # it is deleted, and another pod may have its name

    def _event(self, pod: Pod, action: str) -> None:
        meta = pod.metadata
        about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
        message = f"{action} {meta.namespace}/{meta.name}"
        self._recorder.event(PODS, {"metadata": about}, NORMAL, "TaintManagerEviction", message)
