"""Executes a plan: the status first, then the actions stage by stage, then the events."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery import merge_patch_diff
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.status import JobStatus
from traincrew.operator import job_events
from traincrew.operator.action_executor import ActionExecutor
from traincrew.operator.execution_context import ActionOutcome, ExecutionContext
from traincrew.operator.job_memory import UncertainStatus
from traincrew.planner.actions import Action, Create, Plan

FIRST_CREATES, CREATES_GROWTH = 16, 8
"""Creates of a stage that are executed together, and the growth of this number with every round."""


class PlanExecutor:
    def __init__(self, context: ExecutionContext) -> None:
        self._context = context

    async def execute(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan, lost: tuple[str, ...] = ()) -> ActionOutcome:
        """lost: UIDs of the vanished pods that the plan accounts for."""
        outcome, memory = ActionOutcome(), self._context.observer.memory(job.metadata.uid)
        if plan.status is not None:
            try:
                job = await self._write_status(kind, job, plan.status)
            except errors.ApiError as error:
                outcome.failed, outcome.status_rejected = error, isinstance(error, errors.Rejected)
                if error.uncertain:
                    memory.uncertain = UncertainStatus(plan, job.metadata.resource_version, lost)
                return outcome
            outcome.changed = True
        memory.accounted_for(lost)
        try:
            await _execute_stages(ActionExecutor(self._context, kind, job, memory, outcome), plan, outcome)
        finally:
            self._announce(kind, job, outcome)
            # A written status is in force, even if the actions must be retried.
            if plan.status is not None or outcome.failed is None:
                self._record(kind, job, plan)
        return outcome

    def resolve_uncertain_status(self, kind: JobKind, job: jobs.JobObject[Any]) -> None:
        """Records the events of a status whose response was lost, if the API server has accepted it."""
        memory = self._context.observer.memory(job.metadata.uid)
        uncertain = memory.uncertain
        if uncertain is None or uncertain.resource_version == job.metadata.resource_version:
            return
        memory.uncertain = None
        if job.status == uncertain.plan.status:
            memory.accounted_for(uncertain.lost)
            self._record(kind, job, uncertain.plan)

    async def _write_status(self, kind: JobKind, job: jobs.JobObject[Any], status: JobStatus) -> jobs.JobObject[Any]:
        """With the resourceVersion that was planned from: if the job has changed since, the plan is void."""
        before, after = (msgspec.to_builtins(each) for each in (job.status, status))
        meta = job.metadata
        body = msgspec.json.encode(
            {"metadata": {"resourceVersion": meta.resource_version}, "status": merge_patch_diff.create_merge_patch(before, after)}
        )
        observer = self._context.observer
        store, ports = observer.jobs[kind.plural], observer.ports
        ports.reserve(meta.uid, status.host_ports)
        with store.pending_write(meta.namespace, meta.name):
            try:
                raw = await self._context.client.patch(kind.resource, meta.namespace, meta.name, body, subresource="status")
            except errors.ApiError as error:
                if not error.uncertain:
                    ports.end_reservation(meta.uid)
                raise
            written: jobs.JobObject[Any] = store.apply_response(raw)
        ports.observed(meta.uid, written.status.host_ports)
        ports.end_reservation(meta.uid)
        return written

    def _announce(self, kind: JobKind, job: jobs.JobObject[Any], outcome: ActionOutcome) -> None:
        for resource, names in outcome.created.items():
            self._context.recorder.event(kind, job, *job_events.created(resource, names))
        for resource, names in outcome.deleted.items():
            self._context.recorder.event(kind, job, job_events.deleted(resource, names))

    def _record(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> None:
        for event in plan.events:
            self._context.recorder.event(kind, job, event)
        for milestone in plan.milestones:
            self._context.metrics.milestone(milestone, job.metadata.namespace, kind.framework)


async def _execute_stages(executor: ActionExecutor, plan: Plan, outcome: ActionOutcome) -> None:
    for stage in plan.stages:
        await _execute_stage(executor, executor.admitted(stage), outcome)
        if outcome.failed is not None or outcome.retry_in is not None:
            return


async def _execute_stage(executor: ActionExecutor, stage: list[Action], outcome: ActionOutcome) -> None:
    """A job may have thousands of pods that the API server rejects, one like the other: a few are tried first."""
    creates = [action for action in stage if isinstance(action, Create)]
    batch: list[Action] = [action for action in stage if not isinstance(action, Create)]
    size = FIRST_CREATES
    while batch or creates:
        batch += creates[:size]
        del creates[:size]
        await _execute_together(executor, batch)
        if outcome.rejected:
            return
        batch, size = [], size * CREATES_GROWTH


async def _execute_together(executor: ActionExecutor, actions: list[Action]) -> None:
    """Waits for all actions, also when one fails."""
    if len(actions) == 1:
        await executor.execute(actions[0])
        return
    results = await asyncio.gather(*(executor.execute(action) for action in actions), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
