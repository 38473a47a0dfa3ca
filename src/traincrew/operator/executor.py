"""The operator's hands: they carry out a plan and put what the API server answers into the local copies."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery import merge_diff
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.status import JobStatus
from traincrew.operator import object_events
from traincrew.operator.action_execution import Outcome, Step, Tools
from traincrew.operator.job_memory import Unsure
from traincrew.planner.actions import Action, Plan


class Executor:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def carry_out(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan, lost: tuple[str, ...] = ()) -> Outcome:
        """lost: UIDs of the vanished pods that the plan knows of."""
        outcome, notes = Outcome(), self._tools.world.notebook(job.metadata.uid)
        if plan.status is not None:
            try:
                job = await self._write_status(kind, job, plan.status)
            except errors.ApiError as error:
                outcome.failed, outcome.status_refused = error, isinstance(error, errors.Rejected)
                if error.uncertain:
                    notes.unsure = Unsure(plan, job.metadata.resource_version, lost)
                return outcome
            outcome.changed = True
        notes.reckoned(lost)
        try:
            await _stages(Step(self._tools, kind, job, notes, outcome), plan, outcome)
        finally:
            self._announce(kind, job, outcome)
            # What a status says is so from now on, even if the rest must be tried again.
            if plan.status is not None or outcome.failed is None:
                self._tell(kind, job, plan)
        return outcome

    def look_back(self, kind: JobKind, job: jobs.JobObject[Any]) -> None:
        """If a status whose answer was lost has been taken after all, what it says is still to be told."""
        notes = self._tools.world.notebook(job.metadata.uid)
        unsure = notes.unsure
        if unsure is None or unsure.version == job.metadata.resource_version:
            return
        notes.unsure = None
        if job.status == unsure.plan.status:
            notes.reckoned(unsure.lost)
            self._tell(kind, job, unsure.plan)

    async def _write_status(self, kind: JobKind, job: jobs.JobObject[Any], status: JobStatus) -> jobs.JobObject[Any]:
        """With the version it was planned from: if the job has changed since, the plan is void."""
        before, after = (msgspec.to_builtins(each) for each in (job.status, status))
        meta = job.metadata
        body = msgspec.json.encode(
            {"metadata": {"resourceVersion": meta.resource_version}, "status": merge_diff.merge_patch(before, after)}
        )
        store, ports = self._tools.world.jobs[kind.plural], self._tools.world.ports
        ports.promise(meta.uid, status.host_ports)
        with store.writing(meta.namespace, meta.name):
            try:
                raw = await self._tools.client.patch(kind.resource, meta.namespace, meta.name, body, subresource="status")
            except errors.ApiError as error:
                if not error.uncertain:
                    ports.settle(meta.uid)
                raise
            learnt: jobs.JobObject[Any] = store.learn(raw)
        ports.seen(meta.uid, learnt.status.host_ports)
        ports.settle(meta.uid)
        return learnt

    def _announce(self, kind: JobKind, job: jobs.JobObject[Any], outcome: Outcome) -> None:
        for resource, names in outcome.made.items():
            self._tools.teller.tell(kind, job, *object_events.made(resource, names))
        for resource, names in outcome.removed.items():
            self._tools.teller.tell(kind, job, object_events.removed(resource, names))

    def _tell(self, kind: JobKind, job: jobs.JobObject[Any], plan: Plan) -> None:
        for event in plan.events:
            self._tools.teller.tell(kind, job, event)
        for milestone in plan.milestones:
            self._tools.metrics.milestone(milestone, job.metadata.namespace, kind.framework)


async def _stages(step: Step, plan: Plan, outcome: Outcome) -> None:
    for stage in plan.stages:
        await _all(step, stage)
        if outcome.failed is not None or outcome.retry_in is not None:
            return


async def _all(step: Step, stage: tuple[Action, ...]) -> None:
    """All of them are over when this returns, whatever became of each."""
    if len(stage) == 1:
        await step.do(stage[0])
        return
    results = await asyncio.gather(*(step.do(action) for action in stage), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
