"""Carries out what was decided: bindings, conditions, preemptions, phases of PodGroups."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec

from traincrew import errors
from traincrew.client import clock, port
from traincrew.embedded.scheduler.event_recorder import Recorder, Reference, Told
from traincrew.embedded.scheduler.informers import CLAIMS, GROUPS, Copies
from traincrew.model.resources import PODS, Resource
from traincrew.scheduling import pod_groups, volumes
from traincrew.scheduling.decision import Binding, Preemption, Refusal, Selection
from traincrew.scheduling.pod_info import PREEMPTED, PodInfo

log = logging.getLogger(__name__)

BINDINGS = Resource("", "v1", "bindings", "Binding")
IN_FLIGHT = 32
SCHEDULED, UNSCHEDULABLE, FAILED = "PodScheduled", "Unschedulable", "SchedulerError"

T = TypeVar("T")


class Deeds:
    def __init__(self, client: port.Client, copies: Copies, recorder: Recorder) -> None:
        self._client, self._copies, self._recorder = client, copies, recorder
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._told: dict[str, str] = {}
        """What was last said of a PodGroup that waits, by its uid."""

    def remember(self, groups: set[str]) -> None:
        """Forgets what was said of PodGroups that are no more."""
        self._told = {uid: told for uid, told in self._told.items() if uid in groups}

    async def all(self, deed: Callable[[T], Awaitable[None]], subjects: Iterable[T]) -> None:
        """One that fails is no reason to leave out the others: the next look finds what is left."""
        await asyncio.gather(*(self._one(deed, each) for each in subjects))

    async def _one(self, deed: Callable[[T], Awaitable[None]], subject: T) -> None:
        async with self._slots:
            try:
                await deed(subject)
            except (errors.NotFound, errors.Conflict):
                pass  # the watch tells what it is now
            except errors.ApiError as error:
                log.warning("scheduling: a write failed", extra={"error": error.message})

    async def bind(self, binding: Binding) -> bool:
        """Whether it may be on that node now; if not, the pod says why."""
        pod, meta = binding.pod, binding.pod.metadata
        body = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"kind": "Node", "name": binding.node},
        }
        async with self._slots:
            try:
                await self._client.create(BINDINGS, meta.namespace, msgspec.json.encode(body))
            except (errors.NotFound, errors.Conflict):
                return False
            except errors.ApiError as error:
                log.warning("binding failed", extra={"pod": pod.title, "error": error.message})
                with contextlib.suppress(errors.ApiError):
                    await self._unscheduled(pod, FAILED, f"binding rejected: {error.message}", None)
                return False
        told = f"Successfully assigned {pod.title} to {binding.node}"
        self._tell(pod, Told("Normal", "Scheduled", "Binding", told))
        return True

    async def refuse(self, refusal: Refusal) -> None:
        await self._unscheduled(refusal.pod, UNSCHEDULABLE, refusal.message, refusal.nominated)

    async def _unscheduled(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        status: dict[str, Any] = {}
        held = pod.status.condition(SCHEDULED)
        if held is None or (held.status, held.reason, held.message) != ("False", reason, message):
            condition = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
            if held is None or held.status != "False":
                condition["lastTransitionTime"] = clock.timestamp()
            status["conditions"] = [condition]
        if nominated is not None and nominated != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated or None
        if status:
            await self._patch_status(pod, status)
            self._tell(pod, Told("Warning", "FailedScheduling", "Scheduling", message))

    async def preempt(self, preemption: Preemption) -> None:
        victim, by = preemption.victim, preemption.preemptor
        message = f"{by.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = {"type": "DisruptionTarget", "status": "True", "reason": PREEMPTED, "message": message}
        await self._patch_status(victim, {"conditions": [{**condition, "lastTransitionTime": clock.timestamp()}]})
        meta = victim.metadata
        await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid)
        told = f"Preempted by pod {by.uid} on node {victim.spec.node_name}"
        self._tell(victim, Told("Normal", "Preempted", "Preempting", told), by)

    async def select(self, selection: Selection) -> None:
        """Whoever provides volumes waits for this word."""
        meta = selection.claim.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {volumes.SELECTED_NODE: selection.node}}}
        await self._client.patch(CLAIMS, meta.namespace, meta.name, msgspec.json.encode(body))

    async def change(self, change: pod_groups.Change) -> None:
        self._tell_group(change)
        held, meta = change.group.status, change.group.metadata
        wanted = {"phase": change.phase, "running": change.running, "succeeded": change.succeeded, "failed": change.failed}
        status = {name: value for name, value in wanted.items() if getattr(held, name) != value}
        store = self._copies.groups(change.key.system)
        if not status or store is None:
            return
        body = msgspec.json.encode({"metadata": {"uid": meta.uid}, "status": status})
        resource = GROUPS[change.key.system]
        with store.writing(meta.namespace, meta.name):
            answer = await self._client.patch(resource, meta.namespace, meta.name, body, subresource="status")
            store.learn(answer)

    def _tell_group(self, change: pod_groups.Change) -> None:
        uid = change.group.metadata.uid
        if not change.short:
            self._told.pop(uid, None)
            return
        message = f"{pod_groups.OVERUSED}: {', '.join(change.short)}"
        if self._told.get(uid) != message:
            self._told[uid] = message
            about = Reference(GROUPS[change.key.system], change.group.metadata)
            self._recorder.tell(about, "volcano", Told("Normal", UNSCHEDULABLE, "Enqueuing", message))

    async def _patch_status(self, pod: PodInfo, status: dict[str, Any]) -> None:
        meta = pod.metadata
        body = msgspec.json.encode({"metadata": {"uid": meta.uid}, "status": status})
        with self._copies.pods.writing(meta.namespace, meta.name):
            answer = await self._client.patch(PODS, meta.namespace, meta.name, body, subresource="status", type="strategic")
            self._copies.pods.learn(answer)

    def _tell(self, pod: PodInfo, told: Told, related: PodInfo | None = None) -> None:
        other = Reference(PODS, related.metadata) if related else None
        by = (related or pod).spec.scheduler_name
        self._recorder.tell(Reference(PODS, pod.metadata), by, told, other)
