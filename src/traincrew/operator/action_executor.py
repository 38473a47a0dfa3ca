"""Executes one action of a plan and puts the API server's response into the local store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

from traincrew import errors
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, objects, resources
from traincrew.model.meta import Named
from traincrew.model.observed import PodWarning
from traincrew.operator.execution_context import ActionOutcome, ExecutionContext
from traincrew.operator.job_memory import JobMemory
from traincrew.operator.object_creation import ObjectCreator
from traincrew.planner.actions import Action, Create, Delete, JobEvent, ListEvents, Patch


class ActionExecutor:
    def __init__(
        self, context: ExecutionContext, kind: JobKind, job: jobs.JobObject[Any], memory: JobMemory, outcome: ActionOutcome
    ) -> None:
        self._client, self._observer, self._metrics = context.client, context.observer, context.metrics
        self._recorder = context.recorder
        self._kind, self._job, self._memory, self._outcome = kind, job, memory, outcome
        self._namespace = job.metadata.namespace
        self._creator = ObjectCreator(context, kind, job, memory, outcome)

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
                await self._creator.create(action)
            case Delete():
                await self._delete(action)
            case Patch():
                await self._patch(action)

    async def _delete(self, action: Delete) -> None:
        obj = self._observer.stored(action.resource, self._namespace, action.name)
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
        obj = self._observer.stored(action.resource, self._namespace, action.name)
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
        warnings: list[PodWarning] = []
        async for page in self._client.pages(resources.EVENTS, self._namespace, fields=fields):
            for raw in page.items:
                event = msgspec.json.decode(raw)
                warnings.append(PodWarning(event.get("reason") or "", event.get("message") or ""))
        self._memory.pod_events[action.uid] = tuple(warnings)
        self._outcome.changed = True

    def _launchers(self) -> tuple[str, ...]:
        """UIDs of the job's launchers: batch Jobs that own pods of the job."""
        store = self._observer.objects.get(resources.BATCH_JOBS)
        return tuple(each.metadata.uid for each in store.owned_by(self._job.metadata.uid)) if store is not None else ()
