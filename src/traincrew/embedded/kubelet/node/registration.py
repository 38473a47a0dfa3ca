"""The node's own objects: Node, with its conditions, and the Lease that says that it lives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.apimachinery.resource_info import Object
from traincrew.client import clock, port
from traincrew.embedded.kubelet.node import machine
from traincrew.model.resources import LEASES, Resource

log = logging.getLogger(__name__)

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEWAL = 10.0
"""Seconds between two renewals."""
HEARTBEAT = 300.0
"""Seconds after which conditions are told again though nothing has changed."""
DEVICES = "traincrew.kubeflow.org/devices"
"""The annotation with the names of extended resources that this node counts; others may have been added by others."""


class Condition(NamedTuple):
    status: bool
    reason: str
    message: str


HEALTHY: Mapping[str, Condition] = {
    "MemoryPressure": Condition(False, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": Condition(False, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": Condition(False, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": Condition(True, "KubeletReady", "kubelet is posting ready status"),
}


class Registration:
    def __init__(self, client: port.Client, place: machine.NodeIdentity, found: machine.Machine) -> None:
        self._client, self._place, self._machine = client, place, found
        self.conditions: dict[str, Condition] = dict(HEALTHY)
        self._uid = ""
        self._told: dict[str, tuple[Condition, str]] = {}
        self._changed = asyncio.Event()
        self._gone: set[str] = set()
        """Devices that an earlier start declared, and this one does not."""

    def set(self, kind: str, condition: Condition) -> None:
        if self.conditions.get(kind) != condition:
            self.conditions[kind] = condition
            self._changed.set()

    async def register(self) -> None:
        """The Node is there and up to date when this returns."""
        held = await self._introduced()
        self._uid = held["metadata"]["uid"]
        for each in held.get("status", {}).get("conditions", ()):
            known = Condition(each["status"] == "True", each.get("reason", ""), each.get("message", ""))
            self._told[each["type"]] = known, each.get("lastTransitionTime", "")
        annotated = (held["metadata"].get("annotations") or {}).get(DEVICES, "")
        self._gone = {each for each in annotated.split(",") if each} - set(self._machine.devices)
        await self.tell()
        await self._count(annotated)

    async def _introduced(self) -> Object:
        """The Node as it is now, with our labels."""
        name, meta = self._place.name, {"labels": machine.labels(self._place)}
        try:
            held = await self._client.patch(NODES, None, name, msgspec.json.encode({"metadata": meta}))
        except errors.NotFound:
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **meta}}
            held = await self._client.create(NODES, None, msgspec.json.encode(body))
        found: Object = msgspec.json.decode(held)
        return found

    async def _count(self, annotated: str) -> None:
        """Notes whose devices are ours to count, once those that are no longer have been told to be gone."""
        names = ",".join(sorted(self._machine.devices))
        if names != annotated:
            body = {"metadata": {"annotations": {DEVICES: names}}}
            await self._client.patch(NODES, None, self._place.name, msgspec.json.encode(body))

    async def tell(self) -> None:
        status = machine.status(self._machine, self._place, self._conditions())
        for field in ("capacity", "allocatable"):
            # Patched into what is there, where no word would leave what an earlier start has said.
            status[field] = {**status[field], **dict.fromkeys(self._gone)}
        body = msgspec.json.encode({"status": status})
        # Conditions are merged by their types: others of a cluster's parts have theirs on the node, too.
        await self._client.patch(NODES, None, self._place.name, body, subresource="status", type="strategic")

    def _conditions(self) -> list[Object]:
        now = clock.timestamp()
        for kind, condition in self.conditions.items():
            before = self._told.get(kind)
            since = before[1] if before is not None and before[0].status == condition.status and before[1] else now
            self._told[kind] = condition, since
        return [
            {
                "type": kind, "status": "True" if condition.status else "False", "reason": condition.reason,
                "message": condition.message, "lastHeartbeatTime": now, "lastTransitionTime": self._told[kind][1],
            }
            for kind, condition in self.conditions.items()
        ]  # fmt: skip

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._renew())
            group.create_task(self._keep_telling())

    async def _keep_telling(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await self._changed.wait()
            self._changed.clear()
            try:
                await self.tell()
            except errors.NotFound:
                await self._again()
            except errors.ApiError as error:
                log.warning("node status not written", extra={"error": str(error)})
                await asyncio.sleep(RENEWAL)
                self._changed.set()

    async def _again(self) -> None:
        """Somebody deleted the Node while it works: it comes back, as a kubelet's does."""
        with contextlib.suppress(errors.ApiError):
            await self.register()

    async def _renew(self) -> None:
        while True:
            try:
                await self._renew_once()
            except errors.ApiError as error:
                log.warning("node lease not renewed", extra={"error": str(error)})
            await asyncio.sleep(RENEWAL)

    async def _renew_once(self) -> None:
        name = self._place.name
        now = times.rfc3339_micro(clock.now())
        spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        try:
            await self._client.patch(LEASES, LEASE_NAMESPACE, name, msgspec.json.encode({"spec": spec}))
        except errors.NotFound:
            # Leases go with their Nodes: if that is gone, it comes back first.
            await self.register()
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self._uid}
            meta = {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
            await self._client.create(LEASES, LEASE_NAMESPACE, msgspec.json.encode(body))
