"""Creates one object of a job: names that others use, rejections, and the response of the API server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, resources
from traincrew.model.observed import RejectedWrite
from traincrew.model.resources import Resource
from traincrew.operator import existing_objects, ssh_keys
from traincrew.operator.execution_context import ActionOutcome, ExecutionContext
from traincrew.operator.job_memory import JobMemory
from traincrew.planner import name_conflicts
from traincrew.planner.actions import Create, JobEvent
from traincrew.validation import template_fields

log = logging.getLogger(__name__)

UNWATCHED_RETRY = 0.5
"""Seconds until a create is tried again whose name is taken by a terminating object that no informer watches."""
WATCHED_RETRY = 60.0
"""The same if an informer watches the object: its deletion triggers the retry."""


class ObjectCreator:
    def __init__(
        self, context: ExecutionContext, kind: JobKind, job: jobs.JobObject[Any], memory: JobMemory, outcome: ActionOutcome
    ) -> None:
        self._client, self._observer, self._metrics = context.client, context.observer, context.metrics
        self._recorder, self._backfill = context.recorder, context.backfill
        self._kind, self._job, self._memory, self._outcome = kind, job, memory, outcome
        self._namespace = job.metadata.namespace

    async def create(self, action: Create) -> None:
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
        existing = self._observer.stored(action.resource, self._namespace, action.name)
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
            adopted = self._observer.stored(action.resource, self._namespace, action.name)
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
        rejection = RejectedWrite(
            action.resource, action.name, error.reason, message, foreign, isinstance(error, errors.QuotaExceeded)
        )
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
