"""The limits of scaling up: credit that a job earns by running, cooldown, back-off, time to settle. Scaling down has none."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traincrew.apimachinery import backoff
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.elastic_allocation import EVENED_OUT, GAVE_BACK, NOTICED, Removal
from traincrew.model.meta import Time
from traincrew.model.observed import RejectedWrite
from traincrew.sharing.cluster_snapshot import ElasticJob, FailedScaleUp, JobHistory, Member
from traincrew.sharing.policy import SharingPolicy

NOT_CREATED = FailedScaleUp("NoRoom", "the pod of the last worker was not created")
GRANT_SECONDS = 5.0
"""How long a granted worker may have no pod."""


class ScalingLimit(NamedTuple):
    """Why a job is not scaled up now."""

    reason: str
    message: str
    until: Time | None = None


def scale_up_cost(cost: ResizeCost) -> float:
    return cost.up + cost.redo


def with_earned_credit(record: JobHistory | None, job: ElasticJob, policy: SharingPolicy, now: Time) -> JobHistory:
    """The record with the credit that the job has earned. A new job may be scaled up once.

    After a restart of the operator a job has earned what it has run since its last change.
    """
    if record is None and job.last_resize_at is not None:
        since = max((now - job.last_resize_at).total_seconds(), 0.0)
        cooldown_end = job.last_resize_at + dt.timedelta(seconds=policy.cooldown)
        credit = min(since * policy.resize_budget, max(policy.max_credit, scale_up_cost(job.cost)))
        return JobHistory(credit, now, job.wanted, cooldown_until=cooldown_end if cooldown_end > now else None)
    if record is None:
        return JobHistory(scale_up_cost(job.cost), now, job.wanted)
    earned = (now - record.credited_until).total_seconds() * policy.resize_budget if job.running else 0.0
    credit = min(record.credit + max(earned, 0.0), max(policy.max_credit, scale_up_cost(job.cost)))
    cools_down = record.cooldown_until is not None and record.cooldown_until > now
    return dataclasses.replace(
        record,
        credit=credit,
        credited_until=now,
        granted=_unfulfilled(record.granted, job, now),
        requested=_unfulfilled(record.requested, job, now),
        cooldown_until=record.cooldown_until if cools_down else None,
        reclaimed=record.reclaimed if cools_down else None,
    )


def _unfulfilled(grants: Mapping[int, Time], job: ElasticJob, now: Time) -> dict[int, Time]:
    """Without those whose pods were created: a pod that is gone since was preempted or deleted, and is not granted again."""
    recent = now - dt.timedelta(seconds=GRANT_SECONDS)
    created = {each.index for each in job.members if each.pod is not None}
    ended = {each.index for each in job.removed_members if each.pod is not None and each.pod.terminating}
    return {index: time for index, time in grants.items() if time >= recent and index not in created | ended}


def with_cooldown(record: JobHistory, policy: SharingPolicy, now: Time, cause: Removal) -> JobHistory:
    """After workers were removed."""
    until = now + dt.timedelta(seconds=policy.cooldown)
    return dataclasses.replace(record, cooldown_until=until, cooldown_cause=cause, capacity_since=None)


def charged_for_removals(
    record: JobHistory, job: ElasticJob, removed: Sequence[Member], policy: SharingPolicy, now: Time
) -> JobHistory:
    """After workers on idle capacity were removed for others: the job pays for the work that this throws away.

    All its workers go back to the checkpoint. Those that were removed have earned credit for that as long as they ran.
    """
    workers = {each.index: each for each in (*job.members, *removed)}
    running = [each.running_since for each in workers.values() if each.running_since is not None]
    starts = [each.running_since for each in removed if each.running_since is not None]
    if not starts or not job.cost.redo:
        return record
    changed_at = max([*running, record.last_removal_at or min(running)])
    redone = min(job.cost.redo, (now - changed_at).total_seconds()) * len(running)
    earned = policy.resize_budget * sum((now - since).total_seconds() for since in starts)
    charge = max(redone - earned, 0.0) / max(len(running) - len(starts), 1)
    return dataclasses.replace(record, credit=record.credit - charge, last_removal_at=now)


def limit_during_removal(cause: Removal) -> ScalingLimit:
    """Why a job that workers are removed from is not scaled up."""
    return _limit_of_removal(cause, "workers are being removed")


def _limit_of_removal(cause: Removal | None, message: str) -> ScalingLimit:
    if cause is not None and cause.reason in (GAVE_BACK, EVENED_OUT):
        return ScalingLimit("Yielding", f"{message}: {cause.message}")
    if cause is not None and cause.reason == NOTICED:
        return ScalingLimit("Noticed", f"{message}: {cause.message}")
    return ScalingLimit("CoolingDown", message)


def rejected(write: RejectedWrite) -> FailedScaleUp:
    message = f"the API server rejected the pod of the last worker: {write.message}"
    return FailedScaleUp("Quota" if write.quota_exceeded else "Rejected", message)


def unschedulable(message: str) -> FailedScaleUp:
    """message: that of the scheduler."""
    return FailedScaleUp("NoRoom", f"the scheduler found no node for the last worker: {message}")


def with_backoff(record: JobHistory, policy: SharingPolicy, now: Time, failure: FailedScaleUp) -> JobHistory:
    """After the scheduler found no node for a worker on idle capacity, or the API server rejected its pod."""
    delay = backoff.exponential_delay(record.failed_attempts + 1, policy.initial_backoff, policy.max_backoff)
    until = now + dt.timedelta(seconds=delay)
    return dataclasses.replace(
        record, failed_attempts=record.failed_attempts + 1, last_failure=failure, backoff_until=until, capacity_since=None
    )


def limit_before_scale_up(job: ElasticJob, record: JobHistory, policy: SharingPolicy, now: Time) -> ScalingLimit | None:
    """The limits that do not depend on free capacity."""
    if record.last_failure is not None and record.backoff_until is not None and now < record.backoff_until:
        message = f"{record.last_failure.message}; the next try is at {_at(record.backoff_until)}"
        return ScalingLimit(record.last_failure.reason, message, record.backoff_until)
    if record.cooldown_until is not None and now < record.cooldown_until:
        cause = _limit_of_removal(record.cooldown_cause, "workers were removed")
        message = f"{cause.message}; the job may scale up again at {_at(record.cooldown_until)}"
        return ScalingLimit(cause.reason, message, record.cooldown_until)
    lacking = scale_up_cost(job.cost) - record.credit
    if lacking > 1e-6:
        until = now + dt.timedelta(seconds=lacking / policy.resize_budget)
        between = f"{scale_up_cost(job.cost) / policy.resize_budget:.0f} s of running time"
        message = f"the job may scale up once in {between} (resize budget {policy.resize_budget:.0%})"
        if record.credit < 0:
            message += f"; it pays until {_at(until)} for work that was thrown away when workers were removed"
        return ScalingLimit("CoolingDown", message, until)
    return None


def limit_of_scale_up(
    job: ElasticJob, record: JobHistory, added: int, mean_lifetime: float, policy: SharingPolicy, now: Time
) -> ScalingLimit | None:
    """The limits on this number of additional workers. `capacity_since` of the record is set.

    A change pays if the new workers do more until they leave than it costs all those that run.
    """
    since = record.capacity_since or now
    settled = since + dt.timedelta(seconds=policy.settle)
    if now < settled:
        return ScalingLimit(
            "Settling", f"{more_fit(added)}; the job scales up at {_at(settled)} if the capacity stays idle", settled
        )
    # Capacity that has been idle for a time would have been of use for that time.
    price = scale_up_cost(job.cost) * max(len(job.members), 1)
    if added * max(mean_lifetime, (now - since).total_seconds()) < price:
        until = since + dt.timedelta(seconds=price / added)
        known = f"it costs {price:g} worker-seconds, and workers on idle capacity stay {mean_lifetime:.0f} s on average"
        outlook = f"the job scales up at {_at(until)} if the capacity stays idle"
        return ScalingLimit("Unprofitable", f"{more_fit(added)}, but the change would not pay yet: {known}; {outlook}", until)
    return None


def more_fit(number: int) -> str:
    return "1 more worker fits" if number == 1 else f"{number} more workers fit"


def charged(record: JobHistory, job: ElasticJob) -> JobHistory:
    return dataclasses.replace(
        record,
        credit=record.credit - scale_up_cost(job.cost),
        capacity_since=None,
        failed_attempts=0,
        last_failure=None,
        backoff_until=None,
    )


def _at(time: Time) -> str:
    return f"{time:%H:%M:%S} UTC"
