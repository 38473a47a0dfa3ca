"""The loop: take a job, observe, plan, carry out, until there is nothing left to do."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

from traincrew import errors
from traincrew.client import clock
from traincrew.client.workqueue import WorkQueue
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.operator.action_execution import Outcome
from traincrew.operator.event_recorder import Teller
from traincrew.operator.executor import Executor
from traincrew.operator.job_key import JobKey
from traincrew.operator.job_memory import Notebook
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import World
from traincrew.planner import plan as decide
from traincrew.planner.actions import Create, JobEvent, Plan
from traincrew.planner.waiting_reason import NO_PORTS

logger = logging.getLogger(__name__)

ROUNDS = 8
"""Plans carried out in a row for one job; more would mean that two parties undo each other's work."""

PATIENCE = 0.3
"""Seconds that a change of nothing but counts may wait for the next."""


class Controller:
    def __init__(self, world: World, executor: Executor, queue: WorkQueue[JobKey], teller: Teller, metrics: Metrics) -> None:
        self._world = world
        self._executor = executor
        self._queue = queue
        self._teller = teller
        self._metrics = metrics

    async def work(self) -> None:
        """Runs until the queue is closed; what is in hand is finished first."""
        while (key := await self._queue.get()) is not None:
            started = asyncio.get_running_loop().time()
            try:
                await self._attend(key)
            except Exception:
                delay = self._queue.add_rate_limited(key)
                logger.exception("work failed", extra={"job": str(key), "retry_in": round(delay, 3)})
            finally:
                self._queue.done(key)
                self._metrics.queue_depth.set(len(self._queue))
                framework = self._world.kinds[key.plural].framework
                self._metrics.reconciled(framework, asyncio.get_running_loop().time() - started)
            await asyncio.sleep(0)  # where nothing was to be done, nothing was waited for: others want their turn

    async def _attend(self, key: JobKey) -> None:
        for _ in range(ROUNDS):
            job = self._world.job(key)
            if job is None:
                self._queue.forget(key)
                return
            kind = self._world.kinds[key.plural].following(job)
            outcome = await self._round(key, kind, job)
            if outcome is None:
                self._queue.forget(key)
                return
            if outcome.failed is not None:
                self._failed(key, kind, job, outcome)
                return
            if not outcome.changed:
                self._queue.forget(key)
                return
            if self._queue:
                # Most likely nothing is left to do here: those who wait for their first look come before the second.
                self._queue.forget(key)
                self._queue.add(key)
                return
        self._queue.add_rate_limited(key)

    async def _round(self, key: JobKey, kind: JobKind, job: jobs.JobObject[Any]) -> Outcome | None:
        """One plan, carried out; None if there was nothing to do."""
        self._executor.look_back(kind, job)
        notes = self._world.notebook(job.metadata.uid)
        now, lost = clock.now(), tuple(notes.vanished)
        plan = decide(self._world.kinds[key.plural], job, self._world.observe(job), now)
        wanted = {(a.resource, a.name) for stage in plan.stages for a in stage if isinstance(a, Create)}
        if notes.keep_only(wanted):
            plan = decide(self._world.kinds[key.plural], job, self._world.observe(job), now)
        told = (plan.status or job.status).why
        self._world.ports.waits(job.metadata.uid, key, told is not None and told.reason == NO_PORTS)
        if plan.requeue_at is not None:
            self._queue.add_after(key, (plan.requeue_at - now).total_seconds())
        if plan.status is not None and notes.rejected_status == job.metadata.resource_version:
            return None
        if plan.empty:
            notes.reckoned(lost)
            return None
        if plan.can_be_delayed and self._held_back(key, notes):
            return None
        notes.waiting_since = None
        if self._queue and _is_founding(kind, job, plan):
            # A first status costs the API server as much as two pods, and it can tell more in a moment.
            plan = Plan(stages=plan.stages)
        self._log(kind, job, plan)
        outcome = await self._executor.carry_out(kind, job, plan, lost)
        if outcome.retry_in is not None:
            self._queue.add_after(key, outcome.retry_in)
        return outcome

    def _held_back(self, key: JobKey, notes: Notebook) -> bool:
        """Pods of a job come up together: their counts are written once, not one after the other."""
        now = asyncio.get_running_loop().time()
        if notes.waiting_since is None:
            notes.waiting_since = now
        left = notes.waiting_since + PATIENCE - now
        if left > 0:
            self._queue.add_after(key, left)
        return left > 0

    def _failed(self, key: JobKey, kind: JobKind, job: jobs.JobObject[Any], outcome: Outcome) -> None:
        error = outcome.failed
        assert error is not None
        fields = {"kind": kind.kind, "job": f"{key.namespace}/{key.name}", "error": error.message}
        if outcome.status_refused:
            # The API server will refuse the same status again; the user must know, and only a change can help.
            self._world.notebook(job.metadata.uid).rejected_status = job.metadata.resource_version
            self._teller.tell(kind, job, JobEvent("Warning", "StatusRejected", error.message))
            logger.error("status refused", extra=fields)
            return
        if outcome.changed:
            self._queue.forget(key)  # it gets on, if only step by step
        delay = self._queue.add_rate_limited(key, error.retry_after or 0.0)
        level = logging.DEBUG if isinstance(error, errors.Conflict | errors.NotFound) else logging.WARNING
        logger.log(level, "try again", extra={**fields, "retry_in": round(delay, 3)})

    def _log(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> None:
        """A line a decision: what is done, and for what reason as far as the status tells one."""
        if not logger.isEnabledFor(logging.INFO):
            return
        doing = Counter(
            f"{type(action).__name__.lower()} {(getattr(action, 'resource', None) and action.resource.kind) or 'pod'}"  # type: ignore[union-attr]
            for stage in plan.stages
            for action in stage
        )
        said = plan.status.conditions[-1].reason if plan.status is not None and plan.status.conditions else ""
        fields = {
            "kind": kind.kind,
            "job": f"{job.metadata.namespace}/{job.metadata.name}",
            "actions": ", ".join(f"{name} x{count}" if count > 1 else name for name, count in doing.items()) or "status",
            "reason": (plan.status.why.reason if plan.status is not None and plan.status.why else "") or said,
        }
        logger.info("decided", extra=fields)


def _is_founding(kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> bool:
    """A new job's objects are made and nothing else: lost on the way, all of it is planned again from what is there.

    Which of several contracts a job follows, and which ports it has, must be on record before anything is made.
    """
    actions = [action for stage in plan.stages for action in stage]
    on_record = kind.variants or job.status.conditions or (plan.status is not None and plan.status.host_ports)
    return bool(actions) and not on_record and all(isinstance(each, Create) for each in actions)
