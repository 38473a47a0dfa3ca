"""Registers the Node and keeps its status up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.embedded.kubelet.node import machine
from traincrew.embedded.kubelet.node.conditions import NodeCondition
from traincrew.model import node_annotations
from traincrew.model.resources import NODES

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 300.0
"""An unchanged status is written this often."""
SYNC_SECONDS = 10.0
"""The status is compared with that of the Node this often."""
DEVICES = "traincrew.kubeflow.org/devices"
"""The annotation with the extended resources that this kubelet reports. Other clients may add other resources."""


class NodeStatusUpdater:
    def __init__(
        self,
        client: interfaces.Client,
        identity: machine.NodeIdentity,
        machine: machine.Machine,
        conditions: Mapping[str, NodeCondition],
    ) -> None:
        self._client, self._identity, self._machine, self._conditions = client, identity, machine, conditions
        self._transitions: dict[str, tuple[bool, str]] = {}
        """The status of each condition and the time of its last transition."""
        self._removed_devices: set[str] = set()
        """Devices that an earlier start reported and this one does not."""

    async def register(self) -> str:
        """Creates or updates the Node. Returns its uid. Raises ApiError."""
        node = await self._ensure_node()
        for each in node.get("status", {}).get("conditions", ()):
            self._transitions[each["type"]] = each["status"] == "True", each.get("lastTransitionTime", "")
        annotation = (node["metadata"].get("annotations") or {}).get(DEVICES, "")
        self._removed_devices = {each for each in annotation.split(",") if each} - set(self._machine.devices)
        await self._write_status()
        await self._annotate_devices(annotation)
        return str(node["metadata"]["uid"])

    async def _ensure_node(self) -> Object:
        name, metadata = self._identity.name, {"labels": machine.labels(self._identity)}
        if self._identity.authority:
            metadata["annotations"] = {node_annotations.SERVING_AUTHORITY: self._identity.authority}
        try:
            response = await self._client.patch(NODES, None, name, msgspec.json.encode({"metadata": metadata}))
        except errors.NotFound:
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}}
            response = await self._client.create(NODES, None, msgspec.json.encode(body))
        node: Object = msgspec.json.decode(response)
        return node

    async def _annotate_devices(self, annotation: str) -> None:
        """After the status is written: until then, the annotation has to name the removed devices."""
        names = ",".join(sorted(self._machine.devices))
        if names != annotation:
            body = {"metadata": {"annotations": {DEVICES: names}}}
            await self._client.patch(NODES, None, self._identity.name, msgspec.json.encode(body))

    async def _write_status(self) -> None:
        status = machine.status(self._machine, self._identity, self._condition_list())
        for field in ("capacity", "allocatable"):
            # A merge patch keeps a resource unless the patch sets it to null.
            status[field] = {**status[field], **dict.fromkeys(self._removed_devices)}
        body = msgspec.json.encode({"status": status})
        # A strategic merge patch keeps the conditions of other components.
        await self._client.patch(NODES, None, self._identity.name, body, subresource="status", type="strategic")

    def _condition_list(self) -> list[Object]:
        now = clock.timestamp()
        for kind, condition in self._conditions.items():
            status, since = self._transitions.get(kind, (condition.status, ""))
            self._transitions[kind] = condition.status, since if status == condition.status and since else now
        return [
            {
                "type": kind, "status": _status(condition), "reason": condition.reason,
                "message": condition.message, "lastHeartbeatTime": now, "lastTransitionTime": self._transitions[kind][1],
            }
            for kind, condition in self._conditions.items()
        ]  # fmt: skip

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        due = clock() + HEARTBEAT_SECONDS
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if await self._sync(due=clock() >= due):
                due = clock() + HEARTBEAT_SECONDS

    async def _sync(self, due: bool) -> bool:
        """True: the status was written."""
        try:
            try:
                if not await self._forget_overwritten() and not due:
                    return False
                await self._write_status()
            except errors.NotFound:
                await self.register()  # the Node was deleted: it is created again, as by any kubelet
        except errors.ApiError as error:
            log.warning("node status not written", extra={"error": str(error)})
            return False
        return True

    async def _forget_overwritten(self) -> bool:
        """True: the Node has other conditions than ours. The control plane changes them if it does not hear of the node."""
        node: Object = msgspec.json.decode(await self._client.get(NODES, None, self._identity.name))
        stored = {each["type"]: each["status"] for each in (node.get("status") or {}).get("conditions") or ()}
        overwritten = [kind for kind, condition in self._conditions.items() if stored.get(kind) != _status(condition)]
        for kind in overwritten:
            self._transitions.pop(kind, None)  # its next transition is now
        return bool(overwritten)


def _status(condition: NodeCondition) -> str:
    return "True" if condition.status else "False"
