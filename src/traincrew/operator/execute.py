"""The operator's hands: they carry out a plan and put what the API server answers into the local copies."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, patches, resources
from traincrew.model.observed import PodEvent, Refusal
from traincrew.model.resources import Resource
from traincrew.operator import sshkeys
from traincrew.operator.adopt import Finding, Inspector
from traincrew.operator.metrics import Metrics
from traincrew.operator.notebook import Notebook
from traincrew.operator.observe import World
from traincrew.operator.telling import Teller
from traincrew.planner.actions import Action, Create, Delete, Event, ListEvents, Patch, Plan

logger = logging.getLogger(__name__)


@dataclasses.dataclass
class Outcome:
    """What came of carrying out a plan."""

    changed: bool = False
    """Something was written or learnt: the world is another one, plan again."""
    failed: errors.ApiError | None = None
    """A step that may succeed later; what came after it was left undone."""
    retry_in: float | None = None
    """Seconds until a create that cannot be made now may be tried again."""


@dataclasses.dataclass
class _Tally:
    made: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    removed: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)


class Executor:
    def __init__(self, client: port.Client, world: World, teller: Teller, metrics: Metrics) -> None:
        self._client = client
        self._world = world
        self._teller = teller
        self._metrics = metrics
        self._inspector = Inspector(client, world)

    async def carry_out(self, kind: JobKind, job: jobs.Stored[Any], plan: Plan) -> Outcome:
        outcome, tally = Outcome(), _Tally()
        notes = self._world.notebook(job.metadata.uid)
        try:
            if plan.status is not None:
                job = await self._write_status(kind, job, plan)
                outcome.changed = True
            notes.vanished.clear()  # whatever was lost is in the book now
            for stage in plan.stages:
                await self._stage(kind, job, stage, outcome, tally)
                if outcome.failed is not None or outcome.retry_in is not None:
                    break
        except errors.ApiError as error:
            outcome.failed = error
        self._announce(kind, job, tally)
        if outcome.failed is None or outcome.changed:
            self._tell(kind, job, plan)
        return outcome

    def _tell(self, kind: JobKind, job: jobs.Stored[Any], plan: Plan) -> None:
        for event in plan.events:
            self._teller.tell(kind, job, event)
        for milestone in plan.milestones:
            self._metrics.milestone(milestone, job.metadata.namespace, kind.framework)

    async def _write_status(self, kind: JobKind, job: jobs.Stored[Any], plan: Plan) -> jobs.Stored[Any]:
        """With the version it was planned from: if the job has changed since, the plan is void."""
        before, after = (msgspec.to_builtins(status) for status in (job.status, plan.status))
        body = {
            "metadata": {"resourceVersion": job.metadata.resource_version},
            "status": patches.merge_patch(before, after),
        }
        meta = job.metadata
        raw = await self._client.patch(kind.resource, meta.namespace, meta.name, msgspec.json.encode(body), subresource="status")
        learnt: jobs.Stored[Any] = self._world.jobs[kind.plural].learn(raw)
        return learnt

    async def _stage(
        self, kind: JobKind, job: jobs.Stored[Any], stage: tuple[Action, ...], outcome: Outcome, tally: _Tally
    ) -> None:
        step = _Step(self, kind, job, outcome, tally)
        if len(stage) == 1:
            await step.do(stage[0])
        else:
            await asyncio.gather(*(step.do(action) for action in stage))

    def _announce(self, kind: JobKind, job: jobs.Stored[Any], tally: _Tally) -> None:
        """One event for all that was made, and one for all that was removed, of a resource in one pass."""
        for verb, past, found in (("Create", "Created", tally.made), ("Delete", "Deleted", tally.removed)):
            for resource, names in found.items():
                message = f"{past} {resource.kind.lower()}: {', '.join(sorted(names))}"
                key = hashlib.sha256("".join(sorted(names.values())).encode()).hexdigest()
                self._teller.tell(kind, job, Event("Normal", f"Successful{verb}{resource.kind}", message, key))


class _Step:
    """One action and whatever can become of it."""

    def __init__(self, executor: Executor, kind: JobKind, job: jobs.Stored[Any], outcome: Outcome, tally: _Tally) -> None:
        self._client = executor._client
        self._world = executor._world
        self._teller = executor._teller
        self._metrics = executor._metrics
        self._inspector = executor._inspector
        self._kind, self._job, self._outcome, self._tally = kind, job, outcome, tally
        self._namespace = job.metadata.namespace
        self._notes: Notebook = executor._world.notebook(job.metadata.uid)

    async def do(self, action: Action) -> None:
        try:
            match action:
                case Create():
                    await self._create(action)
                case Delete():
                    await self._delete(action)
                case Patch():
                    await self._patch(action)
                case ListEvents():
                    await self._list_events(action)
        except errors.ApiError as error:
            self._outcome.failed = error

    async def _create(self, action: Create) -> None:
        name, now = (action.resource, action.name), asyncio.get_running_loop().time()
        if not self._notes.may_try(name, now):
            self._postpone(name)
            return
        body: dict[str, Any] = {"apiVersion": action.resource.api_version, "kind": action.resource.kind, **action.body}
        if action.generate == "ssh-keypair":
            body["data"] = sshkeys.keypair()
        strict = action.resource == resources.PODS
        try:
            raw = await self._client.create(action.resource, self._namespace, msgspec.json.encode(body), strict=strict)
        except errors.AlreadyExists as error:
            await self._look_at(action, error)
        except (errors.Forbidden, errors.Rejected, errors.NotFound) as error:
            self._refused(action, error, foreign=False)
        else:
            uid = self._learn(action, raw)
            self._metrics.created(action.resource.plural)
            if action.announced:
                self._tally.made.setdefault(action.resource, {})[action.name] = uid

    def _learn(self, action: Create, raw: bytes) -> str:
        store = self._world.objects.get(action.resource)
        if store is None or not action.owned:
            self._note_known(action)
            return action.name
        self._notes.accepted((action.resource, action.name))
        self._outcome.changed = True
        uid: str = store.learn(raw).metadata.uid
        return uid

    def _note_known(self, action: Create) -> None:
        """No watch of ours shows it, so that it exists must be remembered."""
        self._notes.accepted((action.resource, action.name))
        self._notes.known.add((action.resource.plural, action.name))
        self._outcome.changed = True

    async def _look_at(self, action: Create, error: errors.AlreadyExists) -> None:
        finding, raw = await self._inspector.inspect(self._kind, self._job, action)
        if finding is Finding.OURS:
            self._learn(action, raw)
        elif finding is Finding.SHARED:
            self._note_known(action)
        elif finding is Finding.LEAVING:
            self._notes.wait_for((action.resource, action.name), asyncio.get_running_loop().time())
            self._postpone((action.resource, action.name))
        else:
            self._refused(action, error, foreign=True)

    def _refused(self, action: Create, error: errors.ApiError, foreign: bool) -> None:
        name = (action.resource, action.name)
        news = name not in self._notes.refusals
        refusal = Refusal(action.resource, action.name, error.reason, error.message, foreign)
        self._notes.refused(name, refusal, asyncio.get_running_loop().time())
        self._postpone(name)
        self._outcome.changed = self._outcome.changed or news
        reason = f"FailedCreate{action.resource.kind}" if action.announced else "ErrResourceExists"
        if foreign or action.announced:
            text = f"Error creating: {error.message}"
            self._teller.tell(self._kind, self._job, Event("Warning", reason, text))
        logger.warning("create refused", extra=self._fields(action.name, error=error.message))

    def _postpone(self, name: tuple[Resource, str]) -> None:
        wait = max(self._notes.retry_at.get(name, 0.0) - asyncio.get_running_loop().time(), 0.01)
        self._outcome.retry_in = min(wait, self._outcome.retry_in) if self._outcome.retry_in is not None else wait

    async def _delete(self, action: Delete) -> None:
        store = self._world.objects.get(action.resource) or self._world.jobs.get(action.resource.plural)
        held = store.get(self._namespace, action.name) if store is not None else None
        try:
            raw = await self._client.delete(
                action.resource, self._namespace, action.name, uid=action.uid, propagation="Background"
            )
        except (errors.NotFound, errors.Conflict):
            # Gone already, or another object has the name by now: the watch will tell, or has told.
            if store is not None and held is not None and held.metadata.uid == action.uid:
                store.forget(held)
            self._outcome.changed = True
            return
        self._outcome.changed = True
        if action.resource == resources.PODS:
            self._notes.released.add(action.uid)
        ours = store is not None and held is not None and held.metadata.uid == action.uid
        if ours and store.learn_deleted(held, raw):  # type: ignore[union-attr]
            self._notes.released.discard(action.uid)
        self._metrics.deleted(action.resource.plural)
        if action.announced:
            self._tally.removed.setdefault(action.resource, {})[action.name] = action.uid

    async def _patch(self, action: Patch) -> None:
        body = msgspec.json.encode(action.body)
        store = self._world.objects.get(action.resource)
        try:
            raw = await self._client.patch(action.resource, self._namespace, action.name, body, subresource=action.subresource)
        except errors.NotFound:
            held = store.get(self._namespace, action.name) if store is not None else None
            if store is not None and held is not None:
                store.forget(held)
        else:
            if store is not None:
                store.learn(raw)
        self._outcome.changed = True

    async def _list_events(self, action: ListEvents) -> None:
        fields = f"involvedObject.uid={action.uid},type=Warning"
        found: list[PodEvent] = []
        async for page in self._client.pages(resources.EVENTS, self._namespace, fields=fields):
            for raw in page.items:
                event = msgspec.json.decode(raw)
                found.append(PodEvent(event.get("reason") or "", event.get("message") or ""))
        self._notes.pod_events[action.uid] = tuple(found)
        self._outcome.changed = True

    def _fields(self, name: str, **more: str) -> dict[str, str]:
        meta = self._job.metadata
        return {"kind": self._kind.kind, "job": f"{meta.namespace}/{meta.name}", "object": name, **more}
