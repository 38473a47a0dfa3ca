"""The brakes on growth: credit that a job earns by running, a pay-back, and waiting times. Giving back has no brake."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from traincrew.apimachinery import backoff
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.meta import Time
from traincrew.model.shares import EVENED_OUT, GAVE_BACK, NOTICED, Leave
from traincrew.sharing.scene import ElasticJob, JobRecord, Rules

REJECTED = "the API server rejected the last worker"
NOT_CREATED = "the pod of the last worker was not created"
GRANT_SECONDS = 5.0
"""How long a granted worker may have no pod."""


class Brake(NamedTuple):
    """Why a job does not grow now."""

    reason: str
    message: str
    until: Time | None = None


def price(cost: ResizeCost) -> float:
    return cost.up + cost.redo


def updated(record: JobRecord | None, job: ElasticJob, rules: Rules, now: Time) -> JobRecord:
    """The record with the credit that the job has earned. A new job may grow once.

    After a restart of the operator a job has earned what it has run since its last change.
    """
    if record is None and job.resized is not None:
        since = max((now - job.resized).total_seconds(), 0.0)
        postponement = job.resized + dt.timedelta(seconds=rules.postponement)
        credit = min(since * rules.budget, max(rules.largest_credit, price(job.cost)))
        return JobRecord(credit, now, job.wanted, postponed=postponement if postponement > now else None)
    if record is None:
        return JobRecord(price(job.cost), now, job.wanted)
    earned = (now - record.credited).total_seconds() * rules.budget if job.running else 0.0
    credit = min(record.credit + max(earned, 0.0), max(rules.largest_credit, price(job.cost)))
    return dataclasses.replace(
        record,
        credit=credit,
        credited=now,
        granted=_unfulfilled(record.granted, job, now),
        asked=_unfulfilled(record.asked, job, now),
        postponed=record.postponed if record.postponed is not None and record.postponed > now else None,
    )


def _unfulfilled(grants: Mapping[int, Time], job: ElasticJob, now: Time) -> dict[int, Time]:
    """Without those whose pods were created: a pod that is gone since was preempted or deleted, and is not granted again."""
    recent = now - dt.timedelta(seconds=GRANT_SECONDS)
    created = {each.index for each in job.members if each.pod is not None}
    ended = {each.index for each in job.departing if each.pod is not None and each.pod.terminating}
    return {index: time for index, time in grants.items() if time >= recent and index not in created | ended}


def postponed(record: JobRecord, rules: Rules, now: Time, cause: Leave) -> JobRecord:
    """After a change that was not the will of the job."""
    until = now + dt.timedelta(seconds=rules.postponement)
    return dataclasses.replace(record, postponed=until, postponed_by=cause, room_since=None)


def because_of(cause: Leave | None) -> Brake:
    """Why a job from which a worker left does not grow."""
    if cause is not None and cause.reason in (GAVE_BACK, EVENED_OUT):
        return Brake("Yielding", f"workers leave or left: {cause.message}")
    if cause is not None and cause.reason == NOTICED:
        return Brake("Noticed", f"workers leave or left: {cause.message}")
    return Brake("CoolingDown", "workers leave or left")


def refused(record: JobRecord, rules: Rules, now: Time, words: str) -> JobRecord:
    """After the scheduler found no node for a worker on idle capacity, or the API server rejected its pod."""
    delay = backoff.exponential_delay(record.refusals + 1, rules.first_backoff, rules.longest_backoff)
    until = now + dt.timedelta(seconds=delay)
    return dataclasses.replace(record, refusals=record.refusals + 1, refusal=words, backoff_until=until, room_since=None)


def before_growth(job: ElasticJob, record: JobRecord, rules: Rules, now: Time) -> Brake | None:
    """The brakes that do not depend on the room."""
    if record.backoff_until is not None and now < record.backoff_until:
        message = f"{record.refusal}; the next try is at {_at(record.backoff_until)}"
        return Brake(_reason(record.refusal), message, record.backoff_until)
    if record.postponed is not None and now < record.postponed:
        cause = because_of(record.postponed_by)
        message = f"{cause.message}; the job may grow again at {_at(record.postponed)}"
        return Brake(cause.reason, message, record.postponed)
    lacking = price(job.cost) - record.credit
    if lacking > 1e-6:
        until = now + dt.timedelta(seconds=lacking / rules.budget)
        earning = f"{price(job.cost):g} s at {rules.budget:.0%} of its running time"
        return Brake("CoolingDown", f"the job grows again when it has earned the cost of a change, {earning}", until)
    return None


def _reason(refusal: str) -> str:
    if "exceeded quota" in refusal:
        return "Quota"
    return "Rejected" if refusal.startswith(REJECTED) else "NoRoom"


def of_growth(job: ElasticJob, record: JobRecord, added: int, stay: float, rules: Rules, now: Time) -> Brake | None:
    """The brakes on this number of additional workers. `room_since` of the record is set."""
    since = record.room_since or now
    settled = since + dt.timedelta(seconds=rules.settle)
    if now < settled:
        return Brake("Settling", f"there is room for {added} more; the job grows at {_at(settled)} if it stays free", settled)
    present = max(len(job.members), 1)
    if stay * added < 2 * price(job.cost) * present:
        return Brake(
            "Unprofitable",
            f"{added} more would not repay the change: it costs {price(job.cost):g} s of {present} workers, and workers on idle "
            f"capacity stay {stay:.0f} s in the mean",
        )
    return None


def paid(record: JobRecord, job: ElasticJob) -> JobRecord:
    return dataclasses.replace(
        record, credit=record.credit - price(job.cost), room_since=None, refusals=0, refusal="", backoff_until=None
    )


def _at(time: Time) -> str:
    return f"{time:%H:%M:%S} UTC"
