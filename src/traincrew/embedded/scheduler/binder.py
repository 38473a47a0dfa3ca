"""Writes the scheduler's decisions: bindings, pod conditions, preemptions, phases of PodGroups, events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec

from traincrew import errors
from traincrew.client import clock, events, interfaces
from traincrew.client.event_recorder import EventRecorder
from traincrew.embedded.scheduler.informers import POD_GROUPS, SchedulerInformers
from traincrew.model.resources import PODS, VOLUME_CLAIMS, Resource
from traincrew.scheduling import pod_groups, volumes
from traincrew.scheduling.decisions import Binding, NodeSelection, Preemption, Unschedulable
from traincrew.scheduling.pod_info import PREEMPTION_REASON, PodInfo

log = logging.getLogger(__name__)

BINDINGS = Resource("", "v1", "bindings", "Binding")
IN_FLIGHT = 32
POD_GROUP_COMPONENT = "volcano"
SCHEDULED, UNSCHEDULABLE, FAILED = "PodScheduled", "Unschedulable", "SchedulerError"

T = TypeVar("T")


class Binder:
    def __init__(self, client: interfaces.Client, informers: SchedulerInformers, recorder: EventRecorder, host: str) -> None:
        self._client, self._informers, self._recorder, self._host = client, informers, recorder, host
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._group_messages: dict[str, str] = {}
        """The last event about a PodGroup that waits, by its UID: it is not repeated in every cycle."""

    def keep_groups(self, uids: set[str]) -> None:
        """Forgets the PodGroups that no longer exist."""
        self._group_messages = {uid: message for uid, message in self._group_messages.items() if uid in uids}

    async def write_all(self, write: Callable[[T], Awaitable[None]], decisions: Iterable[T]) -> None:
        """A failed write does not stop the others: the next cycle decides again."""
        await asyncio.gather(*(self._write(write, decision) for decision in decisions))

    async def _write(self, write: Callable[[T], Awaitable[None]], decision: T) -> None:
        async with self._slots:
            try:
                await write(decision)
            except (errors.NotFound, errors.Conflict):
                pass  # the informer delivers the newer object
            except errors.ApiError as error:
                log.warning("scheduling decision not written", extra={"error": error.message})
            except Exception:
                log.exception("scheduling decision not written")

    async def bind(self, binding: Binding) -> bool:
        """Whether the pod is bound; if not, its PodScheduled condition has the reason."""
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
                log.warning("binding failed", extra={"pod": pod.full_name, "error": error.message})
                with contextlib.suppress(errors.ApiError):
                    await self._unscheduled(pod, FAILED, f"binding rejected: {error.message}", None)
                return False
        self._event(pod, events.NORMAL, "Scheduled", "Binding", f"Successfully assigned {pod.full_name} to {binding.node}")
        return True

    async def reject(self, unschedulable: Unschedulable) -> None:
        await self._unscheduled(unschedulable.pod, UNSCHEDULABLE, unschedulable.message, unschedulable.nominated)

    async def _unscheduled(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        status: dict[str, Any] = {}
        known = pod.status.condition(SCHEDULED)
        if known is None or (known.status, known.reason, known.message) != ("False", reason, message):
            condition = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
            if known is None or known.status != "False":
                condition["lastTransitionTime"] = clock.timestamp()
            status["conditions"] = [condition]
        if nominated is not None and nominated != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated or None
        if status:
            await self._patch_status(pod, status)
            self._event(pod, events.WARNING, "FailedScheduling", "Scheduling", message)

    async def preempt(self, preemption: Preemption) -> None:
        victim, by = preemption.victim, preemption.preemptor
        message = f"{by.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = {"type": "DisruptionTarget", "status": "True", "reason": PREEMPTION_REASON, "message": message}
        await self._patch_status(victim, {"conditions": [{**condition, "lastTransitionTime": clock.timestamp()}]})
        meta = victim.metadata
        await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid)
        text = f"Preempted by pod {by.uid} on node {victim.spec.node_name}"
        self._event(victim, events.NORMAL, "Preempted", "Preempting", text, by)

    async def select_node(self, selection: NodeSelection) -> None:
        """Annotates a claim with the node: volume provisioners wait for it."""
        meta = selection.claim.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {volumes.SELECTED_NODE: selection.node}}}
        await self._client.patch(VOLUME_CLAIMS, meta.namespace, meta.name, msgspec.json.encode(body))

    async def update_group(self, change: pod_groups.PodGroupUpdate) -> None:
        self._group_event(change)
        current, meta = change.group.status, change.group.metadata
        desired = {"phase": change.phase, "running": change.running, "succeeded": change.succeeded, "failed": change.failed}
        status = {name: value for name, value in desired.items() if getattr(current, name) != value}
        store = self._informers.pod_groups(change.key.system)
        if not status or store is None:
            return
        body = msgspec.json.encode({"metadata": {"uid": meta.uid}, "status": status})
        resource = POD_GROUPS[change.key.system]
        with store.pending_write(meta.namespace, meta.name):
            answer = await self._client.patch(resource, meta.namespace, meta.name, body, subresource="status")
            store.apply_response(answer)

    def _group_event(self, change: pod_groups.PodGroupUpdate) -> None:
        uid = change.group.metadata.uid
        if not change.insufficient:
            self._group_messages.pop(uid, None)
            return
        message = f"{pod_groups.OVERUSED}: {', '.join(change.insufficient)}"
        if self._group_messages.get(uid) != message:
            self._group_messages[uid] = message
            involved = events.reference(POD_GROUPS[change.key.system], change.group.metadata)
            self._record(involved, POD_GROUP_COMPONENT, events.NORMAL, UNSCHEDULABLE, "Enqueuing", message)

    async def _patch_status(self, pod: PodInfo, status: dict[str, Any]) -> None:
        meta = pod.metadata
        body = msgspec.json.encode({"metadata": {"uid": meta.uid}, "status": status})
        with self._informers.pods.pending_write(meta.namespace, meta.name):
            answer = await self._client.patch(PODS, meta.namespace, meta.name, body, subresource="status", type="strategic")
            self._informers.pods.apply_response(answer)

    def _event(self, pod: PodInfo, type: str, reason: str, action: str, message: str, preemptor: PodInfo | None = None) -> None:
        """The component is the scheduler that the scheduled pod names."""
        involved = events.reference(PODS, pod.metadata)
        related = events.reference(PODS, preemptor.metadata) if preemptor is not None else None
        self._record(involved, (preemptor or pod).spec.scheduler_name, type, reason, action, message, related)

    def _record(
        self,
        involved: events.ObjectReference,
        component: str,
        type: str,
        reason: str,
        action: str,
        message: str,
        related: events.ObjectReference | None = None,
    ) -> None:
        source = events.EventSource(component, instance=f"{component}-{self._host}"[:128])
        now, message = clock.now(), _truncated(message)
        self._recorder.record(events.RecordedEvent(involved, source, type, reason, message, now, action, related))


def _truncated(message: str) -> str:
    """As kube-scheduler does."""
    limit, suffix = events.MESSAGE_LIMIT, " ..."
    return message if len(message) <= limit else message[: limit - len(suffix)] + suffix
