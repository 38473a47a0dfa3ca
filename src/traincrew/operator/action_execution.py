"""One action of a plan, and whatever can become of it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, objects, resources
from traincrew.model.meta import Named
from traincrew.model.observed import PodEvent, Refusal
from traincrew.model.resources import Resource
from traincrew.operator import adoption, ssh_keys
from traincrew.operator.event_backfill import Recall
from traincrew.operator.event_recorder import Teller
from traincrew.operator.job_memory import Notebook
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import World
from traincrew.planner.actions import Action, Create, Delete, JobEvent, ListEvents, Patch

logger = logging.getLogger(__name__)

UNSEEN_PAUSE = 0.5
"""Seconds between two looks at an object in our way that no watch shows us."""
SEEN_PAUSE = 60.0
"""The same for one that a watch shows us: its end will be told."""


@dataclasses.dataclass
class Outcome:
    """What came of carrying out a plan."""

    changed: bool = False
    """Something was written or learnt: the world is another one, plan again."""
    failed: errors.ApiError | None = None
    """A step that may succeed later; what came after it was left undone."""
    status_refused: bool = False
    """That step was the new status, and the API server will never take it."""
    retry_in: float | None = None
    """Seconds until a create that cannot be made now may be tried again."""
    made: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Names and UIDs of what is to be announced."""
    removed: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)

    def postpone(self, seconds: float) -> None:
        self.retry_in = seconds if self.retry_in is None else min(seconds, self.retry_in)


@dataclasses.dataclass(frozen=True)
class Tools:
    client: port.Client
    world: World
    teller: Teller
    metrics: Metrics
    recall: Recall


class Step:
    def __init__(self, tools: Tools, kind: JobKind, job: jobs.JobObject[Any], notes: Notebook, outcome: Outcome) -> None:
        self._client, self._world, self._metrics = tools.client, tools.world, tools.metrics
        self._teller, self._recall = tools.teller, tools.recall
        self._kind, self._job, self._notes, self._outcome = kind, job, notes, outcome
        self._namespace = job.metadata.namespace

    async def do(self, action: Action) -> None:
        try:
            if isinstance(action, ListEvents):
                await self._list_events(action)
                return
            store = self._world.store(action.resource)
            with store.writing(self._namespace, action.name) if store is not None else contextlib.nullcontext():
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
        if self._notes.may_try(name, now) and self._in_the_way(action):
            self._notes.wait_for(name, now + SEEN_PAUSE)
        if not self._notes.may_try(name, now):
            self._outcome.postpone(self._notes.retry_at[name] - now)
            return
        strict = action.resource == resources.PODS
        try:
            raw = await self._client.create(action.resource, self._namespace, _body(action), strict=strict)
        except errors.AlreadyExists as error:
            await self._look_at(action, error)
        except (errors.Forbidden, errors.Rejected, errors.NotFound) as error:
            self._refused(action, error, foreign=False)
        else:
            uid = self._learn(action, raw)
            self._metrics.created(action.resource.plural)
            if action.with_event:
                self._outcome.made.setdefault(action.resource, {})[action.name] = uid

    def _in_the_way(self, action: Create) -> bool:
        """Whether a watch shows an object of that name that is sure to go: an earlier job's, or one being deleted."""
        held = self._held(action.resource, action.name)
        return held is not None and adoption.judge(self._kind, self._job, action, held.metadata) is adoption.Finding.LEAVING

    def _learn(self, action: Create, raw: bytes) -> str:
        self._notes.accepted((action.resource, action.name))
        self._outcome.changed = True
        store = self._world.objects.get(action.resource)
        found = store.decode(raw) if store is not None else None
        owner = found.metadata.controller if found is not None else None
        if store is None or found is None or owner is None or owner.uid != self._job.metadata.uid:
            self._notes.known.add((action.resource.plural, action.name))
            return action.name
        uid: str = store.learn(found).metadata.uid
        return uid

    async def _look_at(self, action: Create, error: errors.AlreadyExists) -> None:
        finding, raw = await adoption.inspect(self._client, self._kind, self._job, action)
        if finding is adoption.Finding.OURS:
            self._learn(action, raw)
            adopted = self._held(action.resource, action.name)
            if adopted is not None:
                self._recall.came_up(self._kind, self._job, action.resource, adopted)
        elif finding is adoption.Finding.LEAVING:
            self._notes.wait_for((action.resource, action.name), asyncio.get_running_loop().time() + UNSEEN_PAUSE)
            self._outcome.postpone(UNSEEN_PAUSE)
        else:
            self._refused(action, error, foreign=True)

    def _refused(self, action: Create, error: errors.ApiError, foreign: bool) -> None:
        name, now = (action.resource, action.name), asyncio.get_running_loop().time()
        refusal = Refusal(action.resource, action.name, error.reason, error.message, foreign)
        news = self._notes.refused(name, refusal, now)
        self._outcome.postpone(self._notes.retry_at[name] - now)
        self._metrics.refused(action.resource.plural)
        if not news:
            return
        self._outcome.changed = True
        if foreign or action.with_event:
            reason = f"FailedCreate{action.resource.kind}" if action.with_event else "ErrResourceExists"
            self._teller.tell(self._kind, self._job, JobEvent("Warning", reason, f"Error creating: {error.message}"))
        logger.warning("create refused", extra=self._fields(action.name, error.message))

    async def _delete(self, action: Delete) -> None:
        held = self._held(action.resource, action.name)
        held = held if held is not None and held.metadata.uid == action.uid else None
        if held is not None and held.metadata.deletion_timestamp is not None:
            self._outcome.changed = True  # somebody else has asked for it since it was planned
            return
        # Of two operators that ask for a pod's deletion both would be told that it was done: only the first may succeed.
        version = held.metadata.resource_version if isinstance(held, objects.Pod) else ""
        if action.resource == resources.PODS:
            self._notes.released.add(action.uid)  # whatever becomes of the answer, we have asked for it
        try:
            raw = await self._client.delete(
                action.resource, self._namespace, action.name, uid=action.uid, version=version, propagation="Background"
            )
        except errors.NotFound as error:
            self._notes.released.discard(action.uid)
            self._forget(action, held)
            if error.uncertain:
                self._removed(action)
            return
        except errors.Conflict:
            raise  # it has changed since it was seen, or another one has its name: the watch will tell
        except (errors.Forbidden, errors.Rejected) as error:
            self._notes.released.discard(action.uid)
            reason = f"FailedDelete{action.resource.kind}"
            self._teller.tell(self._kind, self._job, JobEvent("Warning", reason, f"Error deleting: {error.message}"))
            raise
        self._learn_deleted(action, held, raw)

    def _learn_deleted(self, action: Delete, held: Named | None, raw: bytes) -> None:
        self._outcome.changed = True
        store = self._world.store(action.resource)
        if store is not None and held is not None and store.learn_deleted(held, raw):
            self._notes.released.discard(action.uid)
            self._world.dismiss(action.uid)
        self._removed(action)

    def _removed(self, action: Delete) -> None:
        self._metrics.deleted(action.resource.plural)
        if action.with_event:
            self._outcome.removed.setdefault(action.resource, {})[action.name] = action.uid

    def _forget(self, action: Delete | Patch, held: Named | None) -> None:
        self._outcome.changed = True
        store = self._world.store(action.resource)
        if store is not None and held is not None:
            store.forget(held)
            self._world.dismiss(held.metadata.uid)

    async def _patch(self, action: Patch) -> None:
        """Only the very object that was decided about: by now another job's may bear the name."""
        held = self._held(action.resource, action.name)
        owner = held.metadata.controller if held is not None else None
        if held is None or owner is None or owner.uid not in (self._job.metadata.uid, *self._launchers()):
            self._outcome.changed = True
            return
        meta = {**action.body.get("metadata", {}), "uid": held.metadata.uid}
        body = msgspec.json.encode({**action.body, "metadata": meta})
        try:
            raw = await self._client.patch(action.resource, self._namespace, action.name, body, subresource=action.subresource)
        except errors.NotFound:
            self._forget(action, held)
        else:
            self._world.objects[action.resource].learn(raw)
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

    def _held(self, resource: Resource, name: str) -> Any:
        store = self._world.store(resource)
        return store.get(self._namespace, name) if store is not None else None

    def _launchers(self) -> tuple[str, ...]:
        """Objects of the job's that own pods in its stead."""
        store = self._world.objects.get(resources.BATCH_JOBS)
        return tuple(each.metadata.uid for each in store.owned_by(self._job.metadata.uid)) if store is not None else ()

    def _fields(self, name: str, error: str) -> dict[str, str]:
        meta = self._job.metadata
        return {"kind": self._kind.kind, "job": f"{meta.namespace}/{meta.name}", "object": name, "error": error}


def _body(action: Create) -> bytes:
    body: dict[str, Any] = {"apiVersion": action.resource.api_version, "kind": action.resource.kind, **action.body}
    if action.generate == "ssh-keypair":
        body["data"] = ssh_keys.keypair()
    return msgspec.json.encode(body)
