"""The pod garbage collector: deletes the pods of nodes that no longer exist or are out of service."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.nodes import pod_garbage
from traincrew.embedded.controllers.nodes.running_time import RunningTime
from traincrew.embedded.controllers.pods import Pod
from traincrew.model.resources import NODES, PODS

log = logging.getLogger(__name__)

PERIOD = 20.0
ORPHANED = {
    "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
}  # fmt: skip


class PodGCController:
    def __init__(
        self, client: interfaces.Client, informers: SharedInformers, running_time: RunningTime, period: float = PERIOD
    ) -> None:
        self._client, self._running_time, self._period = client, running_time, period
        self._nodes, self._pods = informers.lister(NODES), informers.pods
        self._missing: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            try:
                await self._collect()
            except errors.ApiError as error:
                log.warning("pods not collected", extra={"error": str(error), "retry_in": self._period})
            except Exception:
                log.exception("pods not collected")  # the other controllers must go on
            await asyncio.sleep(self._period)

    async def _collect(self) -> None:
        pods, nodes = list(self._pods), {node.metadata.name: node.body for node in self._nodes}
        now = self._running_time.now()
        self._missing = pod_garbage.missing_nodes(pods, nodes, self._missing, now)
        gone = {name for name in pod_garbage.gone(self._missing, now) if await self._is_gone(name)}
        for pod in pods:
            if pod.spec.node_name in gone:
                await self._delete(pod, [{**ORPHANED, "lastTransitionTime": clock.timestamp()}])
            elif pod_garbage.abandoned(pod, nodes):
                await self._delete(pod, [])

    async def _is_gone(self, node: str) -> bool:
        """The informer may not have delivered the node yet."""
        try:
            await self._client.get(NODES, None, node)
        except errors.NotFound:
            return True
        return False

    async def _delete(self, pod: Pod, conditions: list[Object]) -> None:
        """With the phase Failed: no kubelet will report how the pod ended."""
        meta = pod.metadata
        status: Object = {"phase": "Failed"} | ({"conditions": conditions} if conditions else {})
        data = msgspec.json.encode({"metadata": {"uid": meta.uid}, "status": status})
        try:
            if not pod.ended:
                await self._client.patch(PODS, meta.namespace, meta.name, data, subresource="status", type="strategic")
            await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid, grace=0)
        except (errors.NotFound, errors.Conflict):
            return  # it is deleted, and another pod may have its name
        log.info("pod without a node deleted", extra={"pod": f"{meta.namespace}/{meta.name}", "node": pod.spec.node_name})
