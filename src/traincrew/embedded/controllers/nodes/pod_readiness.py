"""Pods of a node that is not ready are not ready: Services and jobs must not count on them."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew import errors
from traincrew.client import clock, interfaces
from traincrew.client.lister import Lister
from traincrew.embedded.controllers.event_recorder import WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.pods import Pod
from traincrew.model.resources import PODS


class PodReadiness:
    def __init__(self, client: interfaces.Client, pods: Lister[Pod]) -> None:
        self._client, self._pods = client, pods
        self._recorder = ControllerEventRecorder(client, "node-controller")

    async def run(self) -> None:
        await self._recorder.run()

    async def mark_not_ready(self, node: str) -> None:
        """Raises ApiError if a pod could not be written; then it is to be called again."""
        ready = [pod for pod in self._pods if pod.spec.node_name == node and pod.ready]
        results = await asyncio.gather(*(self._mark(pod) for pod in ready), return_exceptions=True)
        if failures := [each for each in results if isinstance(each, BaseException)]:
            raise failures[0]

    async def _mark(self, pod: Pod) -> None:
        meta = pod.metadata
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": clock.timestamp()}
        body = {
            "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
            "status": {"conditions": [condition]},
        }
        data = msgspec.json.encode(body)
        try:
            response = await self._client.patch(PODS, meta.namespace, meta.name, data, subresource="status", type="strategic")
        except errors.NotFound:
            return
        written = self._pods.apply_response(response)
        about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
        about["resourceVersion"] = written.metadata.resource_version
        self._recorder.event(PODS, {"metadata": about}, WARNING, "NodeNotReady", "Node is not ready")
