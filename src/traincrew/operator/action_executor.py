"""Executes one action of a plan and puts the API server's response into the local store."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, objects, resources
from traincrew.model.meta import Named
from traincrew.model.observed import PodEvent, RejectedWrite
from traincrew.model.resources import Resource
from traincrew.operator import existing_objects, ssh_keys
from traincrew.operator.event_backfill import EventBackfill
from traincrew.operator.job_events import JobEventRecorder
from traincrew.operator.job_memory import JobMemory
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import Observer
from traincrew.planner import name_conflicts
from traincrew.planner.actions import Action, Create, Delete, JobEvent, ListEvents, Patch
from traincrew.validation import template_fields

log = logging.getLogger(__name__)

UNWATCHED_RETRY = 0.5
"""Seconds until a create is tried again whose name is taken by a terminating object that no informer watches."""
WATCHED_RETRY = 60.0
"""The same if an informer watches the object: its deletion triggers the retry."""


@dataclasses.dataclass
class ActionOutcome:
    """The result of executing a plan."""

    changed: bool = False
    """The observed state has changed: plan again."""
    failed: errors.ApiError | None = None
    """The error of an action that may succeed later; the actions after it were not executed."""
    rejected: bool = False
    """A create was rejected, and not because of its name: creates of the same stage that were not tried yet are not tried now."""
    status_rejected: bool = False
    """The error is the rejection of the new status; the API server will never accept it."""
    retry_in: float | None = None
    """Seconds until a create that is not possible now may be tried again."""
    created: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Names and UIDs of the created objects that an event announces."""
    deleted: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)

    def postpone(self, seconds: float) -> None:
        self.retry_in = seconds if self.retry_in is None else min(seconds, self.retry_in)


@dataclasses.dataclass(frozen=True)
class ExecutionContext:
    client: interfaces.Client
    observer: Observer
    recorder: JobEventRecorder
    metrics: Metrics
    backfill: EventBackfill


class ActionExecutor:
    def __init__(
        self, context: ExecutionContext, kind: JobKind, job: jobs.JobObject[Any], memory: JobMemory, outcome: ActionOutcome
    ) -> None:
        self._client, self._observer, self._metrics = context.client, context.observer, context.metrics
        self._recorder, self._backfill = context.recorder, context.backfill
        self._kind, self._job, self._memory, self._outcome = kind, job, memory, outcome
        self._namespace = job.metadata.namespace

    def admitted(self, stage: Sequence[Action]) -> list[Action]:
        """The actions of the stage without creates that have to wait because others like them were rejected."""
        now = asyncio.get_running_loop().time()
        admitted = self._memory.backoff.admitted(stage, now)
        if len(admitted) < len(stage):
            waiting = {action.resource for action in stage if isinstance(action, Create)} & self._memory.backoff.retry_at.keys()
            self._outcome.postpone(max(min(self._memory.backoff.retry_at[each] for each in waiting) - now, 0.0))
        return admitted

    async def execute(self, action: Action) -> None:
        try:
            if isinstance(action, ListEvents):
                await self._list_events(action)
                return
            store = self._observer.store(action.resource)
            with store.pending_write(self._namespace, action.name) if store is not None else contextlib.nullcontext():
                await self._write(action)
        except errors.ApiError as error:
            self._outcome.failed = error

    async def _write(self, action: Create | Delete | Patch) -> None:
        match action:
            case Create():
                await self._create(action)
            case Delete():
                await self._delete(action)
            case Patch():
                await self._patch(action)

    async def _create(self, action: Create) -> None:
        name, now = (action.resource, action.name), asyncio.get_running_loop().time()
        if self._memory.may_try(name, now) and self._name_is_taken(action):
            self._memory.wait_until(name, now + WATCHED_RETRY)
        if not self._memory.may_try(name, now):
            self._outcome.postpone(self._memory.retry_at[name] - now)
            return
        if action.reference in self._job.status.name_conflicts:
            await self._end_conflict(action)
            return
        strict = action.resource == resources.PODS
        try:
            raw = await self._client.create(action.resource, self._namespace, _body(action), strict=strict)
        except errors.AlreadyExists as error:
            await self._inspect_existing(action, error)
        except (errors.Forbidden, errors.Rejected, errors.NotFound) as error:
            self._rejected(action, _unserved(action.resource, error), foreign=False)
        else:
            uid = self._apply_response(action, raw)
            self._memory.backoff.end(action.resource)
            self._metrics.created(action.resource.plural)
            if action.with_event:
                self._outcome.created.setdefault(action.resource, {})[action.name] = uid

    def _name_is_taken(self, action: Create) -> bool:
        """Whether an informer shows a terminating object of that name, or one of an earlier job."""
        existing = self._stored(action.resource, action.name)
        if existing is None:
            return False
        return (
            existing_objects.classify(self._kind, self._job, action, existing.metadata) is existing_objects.Ownership.TERMINATING
        )

    def _apply_response(self, action: Create, raw: bytes) -> str:
        self._memory.accepted((action.resource, action.name))
        self._outcome.changed = True
        store = self._observer.objects.get(action.resource)
        obj = store.decode(raw) if store is not None else None
        owner = obj.metadata.controller if obj is not None else None
        if store is None or obj is None or owner is None or owner.uid != self._job.metadata.uid:
            self._memory.known.add((action.resource.plural, action.name))
            return action.name
        uid: str = store.apply_response(obj).metadata.uid
        return uid

    async def _end_conflict(self, action: Create) -> None:
        """Tries whether a name is still taken, without creating the object: the status must allow that first."""
        try:
            await self._client.create(action.resource, self._namespace, _body(action), dry_run=True)
        except errors.AlreadyExists as error:
            await self._inspect_existing(action, error)
            return
        except (errors.Forbidden, errors.Rejected, errors.NotFound):
            pass  # the create itself reports it
        self._memory.end_conflict(action.reference)
        self._outcome.changed = True

    async def _inspect_existing(self, action: Create, error: errors.AlreadyExists) -> None:
        if action.resource in name_conflicts.UNREADABLE:
            ownership, raw = existing_objects.infer(self._job, action, error, self._memory), b""
            recorded = action.reference in self._job.status.name_conflicts
            self._outcome.changed |= ownership is not existing_objects.Ownership.OURS and not recorded
        else:
            ownership, raw = await existing_objects.inspect(self._client, self._kind, self._job, action)
        if ownership is existing_objects.Ownership.OURS:
            self._apply_response(action, raw)
            adopted = self._stored(action.resource, action.name)
            if adopted is not None:
                self._backfill.object_added(self._kind, self._job, action.resource, adopted)
        elif ownership is existing_objects.Ownership.TERMINATING:
            self._memory.wait_until((action.resource, action.name), asyncio.get_running_loop().time() + UNWATCHED_RETRY)
            self._outcome.postpone(UNWATCHED_RETRY)
        else:
            self._rejected(action, error, foreign=True)

    def _rejected(self, action: Create, error: errors.ApiError, foreign: bool) -> None:
        name, now = (action.resource, action.name), asyncio.get_running_loop().time()
        message = template_fields.with_suggestions(error.message)
        rejection = RejectedWrite(action.resource, action.name, error.reason, message, foreign)
        changed = self._memory.rejections.get(name) != rejection
        self._outcome.postpone(self._memory.rejected(name, rejection, now))
        self._outcome.rejected |= not foreign
        self._metrics.rejected(action.resource.plural)
        if not changed:
            return
        self._outcome.changed = True
        self._observer.on_rejection()
        if foreign or action.with_event:
            self._recorder.event(self._kind, self._job, self._rejection_event(action, error, foreign))
        log.warning("create rejected", extra=self._fields(action.name, error.message))

    def _rejection_event(self, action: Create, error: errors.ApiError, foreign: bool) -> JobEvent:
        template = self._kind.reporting.resource_exists
        if foreign and template:
            return JobEvent("Warning", "ErrResourceExists", template.format(name=action.name, kind=action.resource.kind))
        reason = f"FailedCreate{action.resource.kind}" if action.with_event else "ErrResourceExists"
        return JobEvent("Warning", reason, f"Error creating: {error.message}")

    async def _delete(self, action: Delete) -> None:
        obj = self._stored(action.resource, action.name)
        obj = obj if obj is not None and obj.metadata.uid == action.uid else None
        if obj is not None and obj.metadata.deletion_timestamp is not None:
            self._outcome.changed = True  # another client has deleted the object since it was planned
            return
        # Without a version, the deletes of two operators for the same pod would both succeed and be counted twice.
        version = obj.metadata.resource_version if isinstance(obj, objects.Pod) else ""
        if action.resource == resources.PODS:
            self._memory.deletions.add(action.uid)  # before the response, which may be lost
        try:
            raw = await self._client.delete(
                action.resource, self._namespace, action.name, uid=action.uid, version=version, propagation="Background"
            )
        except errors.NotFound as error:
            self._memory.deletions.discard(action.uid)
            self._forget(action, obj)
            if error.uncertain:
                self._deleted(action)
            return
        except errors.Conflict:
            raise  # the pod has changed, or another object has its name: the informer delivers it
        except (errors.Forbidden, errors.Rejected) as error:
            self._memory.deletions.discard(action.uid)
            reason = f"FailedDelete{action.resource.kind}"
            self._recorder.event(self._kind, self._job, JobEvent("Warning", reason, f"Error deleting: {error.message}"))
            raise
        self._apply_delete_response(action, obj, raw)

    def _apply_delete_response(self, action: Delete, obj: Named | None, raw: bytes) -> None:
        self._outcome.changed = True
        store = self._observer.store(action.resource)
        if store is not None and obj is not None and store.apply_delete_response(obj, raw):
            self._memory.deletions.discard(action.uid)
            self._observer.forget(action.uid)
        self._deleted(action)

    def _deleted(self, action: Delete) -> None:
        self._metrics.deleted(action.resource.plural)
        if action.with_event:
            self._outcome.deleted.setdefault(action.resource, {})[action.name] = action.uid

    def _forget(self, action: Delete | Patch, obj: Named | None) -> None:
        self._outcome.changed = True
        store = self._observer.store(action.resource)
        if store is not None and obj is not None:
            store.remove(obj)
            self._observer.forget(obj.metadata.uid)

    async def _patch(self, action: Patch) -> None:
        """Patches only the object that was planned: by now the name may be another job's."""
        obj = self._stored(action.resource, action.name)
        owner = obj.metadata.controller if obj is not None else None
        if obj is None or owner is None or owner.uid not in (self._job.metadata.uid, *self._launchers()):
            self._outcome.changed = True
            return
        meta = {**action.body.get("metadata", {}), "uid": obj.metadata.uid}
        body = msgspec.json.encode({**action.body, "metadata": meta})
        try:
            raw = await self._client.patch(action.resource, self._namespace, action.name, body, subresource=action.subresource)
        except errors.NotFound:
            self._forget(action, obj)
        else:
            self._observer.objects[action.resource].apply_response(raw)
            self._outcome.changed = True

    async def _list_events(self, action: ListEvents) -> None:
        fields = f"involvedObject.uid={action.uid},type=Warning"
        warnings: list[PodEvent] = []
        async for page in self._client.pages(resources.EVENTS, self._namespace, fields=fields):
            for raw in page.items:
                event = msgspec.json.decode(raw)
                warnings.append(PodEvent(event.get("reason") or "", event.get("message") or ""))
        self._memory.pod_events[action.uid] = tuple(warnings)
        self._outcome.changed = True

    def _stored(self, resource: Resource, name: str) -> Any:
        store = self._observer.store(resource)
        return store.get(self._namespace, name) if store is not None else None

    def _launchers(self) -> tuple[str, ...]:
        """UIDs of the job's launchers: batch Jobs that own pods of the job."""
        store = self._observer.objects.get(resources.BATCH_JOBS)
        return tuple(each.metadata.uid for each in store.owned_by(self._job.metadata.uid)) if store is not None else ()

    def _fields(self, name: str, error: str) -> dict[str, str]:
        meta = self._job.metadata
        return {"kind": self._kind.kind, "job": f"{meta.namespace}/{meta.name}", "object": name, "error": error}


def _unserved(resource: Resource, error: errors.ApiError) -> errors.ApiError:
    """The API server answers requests for a resource that it does not know with a page, not with a Status."""
    if not isinstance(error, errors.NotFound) or error.reason:
        return error
    return errors.NotFound(f"the CRD {resource.plural}.{resource.group} is not installed", reason="NotFound")


def _body(action: Create) -> bytes:
    body: dict[str, Any] = {"apiVersion": action.resource.api_version, "kind": action.resource.kind, **action.body}
    if action.generate == "ssh-keypair":
        body["data"] = ssh_keys.keypair()
    return msgspec.json.encode(body)
