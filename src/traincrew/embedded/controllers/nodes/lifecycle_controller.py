"""The node lifecycle controller: conditions and taints of nodes that are lost, and the readiness of their pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.client.lister import Unstructured
from traincrew.embedded.controllers.event_recorder import NORMAL, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.nodes import health, taints
from traincrew.embedded.controllers.nodes.health import NodeHealth, Timing
from traincrew.embedded.controllers.nodes.pod_readiness import PodReadiness
from traincrew.embedded.controllers.nodes.running_time import RunningTime
from traincrew.embedded.controllers.nodes.zone_evictions import ZoneEvictions
from traincrew.model.resources import LEASES, NODES

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"


class _RenewTime(msgspec.Struct, rename="camel"):
    renew_time: str = ""


class _Name(msgspec.Struct):
    name: str


class _Lease(msgspec.Struct):
    metadata: _Name
    spec: _RenewTime = msgspec.field(default_factory=_RenewTime)


class _Known(NamedTuple):
    """What the controller remembers of a node."""

    name: str
    health: NodeHealth
    ready: str
    """The status of its condition Ready when its pods were last looked at. Empty: they have to be looked at."""


class NodeLifecycleController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers, running_time: RunningTime, timing: Timing) -> None:
        self._client, self._running_time, self._timing = client, running_time, timing
        self._nodes = informers.lister(NODES)
        self._recorder = ControllerEventRecorder(client, "node-controller")
        self._pods = PodReadiness(client, informers.pods)
        self._known: dict[str, _Known] = {}
        """By UID: a node that is deleted and created again is another node."""
        self._deaf = False
        self._evictions = ZoneEvictions()
        self._changed = asyncio.Event()
        self._nodes.listeners.append(self._node_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(self._pods.run())
            group.create_task(self._monitor())

    def _node_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if old is None or new is None or _decisive(old.body) != _decisive(new.body):
            self._changed.set()

    async def _monitor(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._check()
            except errors.ApiError as error:
                log.warning("nodes not checked", extra={"error": str(error), "retry_in": self._timing.period})
            except Exception:
                # The next change may remove the cause; the other controllers must go on.
                log.exception("nodes not checked")
            try:
                async with asyncio.timeout(self._timing.period):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _check(self) -> None:
        # The leases are read, not watched: what is decided here never rests on a renewal that is not delivered yet.
        renewed = {lease.metadata.name: lease.spec.renew_time async for lease in self._leases()}
        now = self._running_time.now()
        self._observe(renewed, now)
        await _each(self._write_conditions(node) for node in self._lost(now))
        stored = [node for node in self._nodes if node.metadata.uid in self._known]
        if self._evictions.observe([node.body for node in stored]):
            self._begin_anew(now)
        decided = [(node, self._taints(node, now)) for node in stored]
        await _each(self._patch(node, {"spec": {"taints": each or None}}) for node, each in decided if each is not None)
        await _each(self._mark_pods(node) for node in stored)

    def _lost(self, now: float) -> list[Unstructured]:
        were_deaf = self._deaf
        self._deaf = health.is_deaf([each.health for each in self._known.values()], now, self._timing)
        if were_deaf and not self._deaf:
            self._begin_anew(now)
        if self._deaf:
            return []
        return [node for node in self._nodes if health.is_lost(self._known[node.metadata.uid].health, now, self._timing)]

    def _begin_anew(self, now: float) -> None:
        """Nodes that were not heard of because nobody was have the whole grace period."""
        self._known = {uid: each._replace(health=each.health._replace(heard=now)) for uid, each in self._known.items()}

    async def _leases(self) -> AsyncIterator[_Lease]:
        async for page in self._client.pages(LEASES, LEASE_NAMESPACE):
            for item in page.items:
                yield msgspec.json.decode(item, type=_Lease)

    def _observe(self, renewed: dict[str, str], now: float) -> None:
        before, self._known = self._known, {}
        for node in self._nodes:
            name, uid = node.metadata.name, node.metadata.uid
            known = before.get(uid)
            seen = health.observe(known.health if known else None, node.body, renewed.get(name, ""), now)
            self._known[uid] = _Known(name, seen, known.ready if known else "")
            if known is None:
                self._event(name, uid, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
        for uid in before.keys() - self._known.keys():
            name = before[uid].name
            self._event(name, uid, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")

    def _event(self, name: str, uid: str, reason: str, message: str) -> None:
        self._recorder.event(NODES, {"metadata": {"name": name, "uid": uid}}, NORMAL, reason, message)

    async def _write_conditions(self, node: Unstructured) -> None:
        changed = health.unknown_conditions(node.body, clock.timestamp())
        if changed:
            await self._patch(node, {"status": {"conditions": changed}}, "status")

    def _taints(self, node: Unstructured, now: float) -> list[Object] | None:
        wanted = taints.updated(node.body, self._evictions.of(node.body, now), clock.timestamp())
        if wanted is not None and taints.evict(wanted) and not taints.evict(taints.of(node.body)):
            self._evictions.started(node.body, now)
        return wanted

    async def _patch(self, node: Unstructured, body: Object, subresource: str = "") -> None:
        """With the resourceVersion: a heartbeat that arrives meanwhile voids the decision."""
        meta = {"metadata": {"resourceVersion": node.metadata.resource_version}}
        kind: interfaces.PatchType = "strategic" if subresource else "merge"
        data = msgspec.json.encode(meta | body)
        response = await self._client.patch(NODES, None, node.metadata.name, data, subresource=subresource, type=kind)
        self._nodes.apply_response(response)

    async def _mark_pods(self, node: Unstructured) -> None:
        """Once, when the node is no longer ready; after a start for each node that is not."""
        known, ready = self._known[node.metadata.uid], health.ready_status(node.body)
        if ready in ("False", "Unknown") and known.ready in ("True", ""):
            if known.ready:
                message = f"Node {node.metadata.name} status is now: NodeNotReady"
                self._event(node.metadata.name, node.metadata.uid, "NodeNotReady", message)
            known = known._replace(ready="")
            self._known[node.metadata.uid] = known
            await self._pods.mark_not_ready(node.metadata.name)
        self._known[node.metadata.uid] = known._replace(ready=ready)


def _decisive(node: Object) -> tuple[object, ...]:
    """The properties of a node that its taints follow from."""
    spec, listed = node.get("spec") or {}, (node.get("status") or {}).get("conditions") or ()
    return spec.get("taints"), spec.get("unschedulable"), [(each["type"], each["status"]) for each in listed]


async def _each(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """A node that cannot be written does not keep the others from being written. It is tried again in the next check."""
    for result in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(result, errors.Conflict | errors.NotFound):
            continue  # the informer will deliver, or has delivered, the newer object
        if isinstance(result, errors.ApiError):
            log.warning("node not updated", extra={"error": str(result)})
        elif isinstance(result, BaseException):
            raise result
