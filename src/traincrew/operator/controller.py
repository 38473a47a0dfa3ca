"""The reconcile loop: take a job from the work queue, observe, plan and execute, until there is nothing left to do."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from traincrew import errors
from traincrew.client.workqueue import WorkQueue
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.observed import Observed
from traincrew.operator import unreadable_objects
from traincrew.operator.execution_context import ActionOutcome, ExecutionContext
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.job_memory import JobMemory
from traincrew.operator.other_operators import OtherOperators
from traincrew.operator.plan_executor import PlanExecutor
from traincrew.planner import other_operators
from traincrew.planner.actions import Create, JobEvent, Plan
from traincrew.planner.other_operators import OperatorEvidence
from traincrew.planner.plan import plan as decide
from traincrew.planner.waiting_reason import NO_PORTS

log = logging.getLogger(__name__)

MAX_PASSES = 8
"""Plans executed in a row for one job; more would mean that two controllers undo each other's work."""

OTHER_OPERATOR_SECONDS = 10.0
"""Seconds within which another operator that is running would have acted on a new job."""
STATUS_BATCH_PERIOD = 0.3
"""Seconds for which a status that changes only counts is delayed."""


class TrainingJobController:
    def __init__(
        self, context: ExecutionContext, queue: WorkQueue[JobQueueKey], others: OtherOperators, now: Callable[[], dt.datetime]
    ) -> None:
        self._observer, self._recorder, self._metrics = context.observer, context.recorder, context.metrics
        self._others = others
        self._executor = PlanExecutor(context)
        self._queue = queue
        self._now = now

    async def run_worker(self) -> None:
        """Runs until the queue is shut down; the current job is finished first."""
        while (key := await self._queue.get()) is not None:
            started = asyncio.get_running_loop().time()
            try:
                await self._reconcile(key)
            except Exception:
                delay = self._queue.add_rate_limited(key)
                fields = {"kind": self._observer.kinds[key.plural].kind, "job": f"{key.namespace}/{key.name}"}
                log.exception("reconcile failed", extra={**fields, "retry_in": round(delay, 3)})
                self._metrics.reconcile_failed(self._observer.kinds[key.plural].framework)
            finally:
                self._queue.done(key)
                self._metrics.queue_depth.set(len(self._queue))
                framework = self._observer.kinds[key.plural].framework
                self._metrics.reconciled(framework, asyncio.get_running_loop().time() - started)
            await asyncio.sleep(0)  # a reconcile without work never yields to other tasks

    async def _reconcile(self, key: JobQueueKey) -> None:
        for _ in range(MAX_PASSES):
            job = self._observer.job(key)
            if job is None:
                self._queue.forget(key)
                return
            if (evidence := self._others.blocking(self._observer.kinds[key.plural])) is not None:
                self._queue.forget(key)
                self._leave_to_other_operator(key, job, evidence)
                return
            kind = self._observer.kinds[key.plural].following(job)
            outcome = await self._reconcile_once(key, kind, job)
            if outcome is not None and outcome.failed is not None:
                self._retry(key, kind, job, outcome)
                return
            if outcome is None or not outcome.changed:
                self._queue.forget(key)
                return
            if self._queue:
                # Most likely nothing is left to do here: jobs that wait for their first reconcile go first.
                self._queue.forget(key)
                self._queue.add(key)
                return
        self._queue.add_rate_limited(key)

    def _leave_to_other_operator(self, key: JobQueueKey, job: jobs.JobObject[Any], evidence: OperatorEvidence) -> None:
        """The other operator acts on the job, or nobody does: then an event on the job says why."""
        created = job.metadata.creation_timestamp
        if job.status.conditions or created is None:
            return
        wait = OTHER_OPERATOR_SECONDS - (self._now() - created).total_seconds()
        if wait > 0:
            self._queue.add_after(key, wait)
            return
        memory, kind = self._observer.memory(job.metadata.uid), self._observer.kinds[key.plural].following(job)
        message = other_operators.not_reconciled(f"{kind.kind} {key.name} is", evidence)
        if memory.other_operator != message:
            memory.other_operator = message
            self._recorder.event(kind, job, JobEvent("Warning", "OtherOperatorRunning", message))

    async def _reconcile_once(self, key: JobQueueKey, kind: JobKind, job: jobs.JobObject[Any]) -> ActionOutcome | None:
        """Computes one plan and executes it. None: nothing to do."""
        self._executor.resolve_uncertain_status(kind, job)
        memory = self._observer.memory(job.metadata.uid)
        now, lost = self._now(), tuple(memory.vanished)
        plan = self._plan(key, job, memory, now)
        waiting_for = (plan.status or job.status).why
        self._observer.ports.set_waiting(job.metadata.uid, key, waiting_for is not None and waiting_for.reason == NO_PORTS)
        if plan.requeue_at is not None:
            self._queue.add_after(key, (plan.requeue_at - now).total_seconds())
        if plan.status is not None and memory.rejected_status == job.metadata.resource_version:
            return None
        if plan.empty:
            memory.accounted_for(lost)
            return None
        if plan.can_be_delayed and self._is_batched(key, memory):
            return None
        memory.batched_since = None
        if self._queue and _only_creates(self._observer.kinds[key.plural], job, plan):
            # Writing a first status costs as much as creating two pods, and it changes again at once.
            plan = Plan(stages=plan.stages)
        self._log(kind, job, plan)
        outcome = await self._executor.execute(kind, job, plan, lost)
        if outcome.retry_in is not None:
            self._queue.add_after(key, outcome.retry_in)
        return outcome

    def _plan(self, key: JobQueueKey, job: jobs.JobObject[Any], memory: JobMemory, now: dt.datetime) -> Plan:
        kind, observed = self._observer.kinds[key.plural], self._observer.observe(job)
        self._report_unreadable(kind.following(job), job, memory, observed)
        plan = decide(kind, job, observed, now)
        planned = {(action.resource, action.name) for stage in plan.stages for action in stage if isinstance(action, Create)}
        if memory.keep_only(planned):
            plan = decide(kind, job, self._observer.observe(job), now)
        return plan

    def _report_unreadable(self, kind: JobKind, job: jobs.JobObject[Any], memory: JobMemory, observed: Observed) -> None:
        for unreadable in observed.unreadable:
            if memory.reported.get((unreadable.kind, unreadable.name)) == unreadable:
                continue
            memory.reported[unreadable.kind, unreadable.name] = unreadable
            event = unreadable_objects.event(unreadable)
            self._recorder.event(kind, job, event)
            name = f"{job.metadata.namespace}/{job.metadata.name}"
            log.error("ignoring unreadable fields", extra={"kind": kind.kind, "job": name, "error": event.message})

    def _is_batched(self, key: JobQueueKey, memory: JobMemory) -> bool:
        """Pods of a job become ready together: their counts are written once, not one after the other."""
        now = asyncio.get_running_loop().time()
        if memory.batched_since is None:
            memory.batched_since = now
        left = memory.batched_since + STATUS_BATCH_PERIOD - now
        if left > 0:
            self._queue.add_after(key, left)
        return left > 0

    def _retry(self, key: JobQueueKey, kind: JobKind, job: jobs.JobObject[Any], outcome: ActionOutcome) -> None:
        error = outcome.failed
        assert error is not None
        fields = {"kind": kind.kind, "job": f"{key.namespace}/{key.name}", "error": error.message}
        if outcome.status_rejected:
            # The API server will reject the same status again; only a change of the job can help.
            self._observer.memory(job.metadata.uid).rejected_status = job.metadata.resource_version
            self._recorder.event(kind, job, JobEvent("Warning", "StatusRejected", error.message))
            log.error("status rejected", extra=fields)
            return
        if outcome.changed:
            self._queue.forget(key)  # there is progress
        delay = self._queue.add_rate_limited(key, error.retry_after or 0.0)
        expected = isinstance(error, errors.Conflict | errors.NotFound)
        level = logging.DEBUG if expected else logging.WARNING
        if not expected:
            self._metrics.reconcile_failed(kind.framework)
        log.log(level, "reconcile failed", extra={**fields, "retry_in": round(delay, 3)})

    def _log(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> None:
        """One line for each plan: the actions, and the reason in the status if there is one."""
        if not log.isEnabledFor(logging.INFO):
            return
        actions = Counter(
            f"{type(action).__name__.lower()} {(getattr(action, 'resource', None) and action.resource.kind) or 'pod'}"  # type: ignore[union-attr]
            for stage in plan.stages
            for action in stage
        )
        condition = plan.status.conditions[-1].reason if plan.status is not None and plan.status.conditions else ""
        fields = {
            "kind": kind.kind,
            "job": f"{job.metadata.namespace}/{job.metadata.name}",
            "actions": ", ".join(f"{name} x{count}" if count > 1 else name for name, count in actions.items()) or "status",
            "reason": (plan.status.why.reason if plan.status is not None and plan.status.why else "") or condition,
        }
        log.info("executing plan", extra=fields)


def _only_creates(kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> bool:
    """Whether the plan only creates the objects of a new job: if it is interrupted, all of it is planned again.

    Which of several contracts a job follows, and which ports it has, must be in the status before anything is created. So must
    be the first attempt to create an object that the operator cannot read.
    """
    actions = [action for stage in plan.stages for action in stage]
    in_status = kind.variants or job.status.conditions or (plan.status is not None and plan.status.host_ports)
    return bool(actions) and not in_status and all(isinstance(item, Create) and not item.first_attempt for item in actions)
