"""The back-off before failed pods are replaced: 10 seconds, doubled with each failure in a row, 10 minutes at most."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from traincrew.apimachinery import backoff
from traincrew.embedded.controllers.jobs import pod_indexes
from traincrew.embedded.controllers.pods import ContainerStatus, Pod

INITIAL_BACKOFF, MAX_BACKOFF = 10.0, 600.0
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.UTC)


class BackoffRecord(NamedTuple):
    failures: int = 0
    """In a row, after the last success."""
    last: dt.datetime | None = None


def finished(pod: Pod) -> dt.datetime:
    """When a pod ended, by the best available time."""
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    statuses = [*pod.status.container_statuses, *(e for e in pod.status.init_container_statuses if e.name in sidecars)]
    if (latest := _latest(statuses)) is not None:
        return latest
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    if (gone := pod.metadata.deletion_timestamp) is not None:
        return gone - dt.timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return pod.metadata.creation_timestamp or _LONG_AGO


def _latest(statuses: Iterable[ContainerStatus]) -> dt.datetime | None:
    times = [each.state.terminated.finished_at if each.state.terminated else None for each in statuses]
    known = [each for each in times if each is not None]
    return max(known) if known and len(known) == len(times) else None


def updated(record: BackoffRecord, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> BackoffRecord:
    """The record with the pods that have ended since."""
    times = sorted(finished(pod) for pod in failed)
    if not succeeded:
        return BackoffRecord(record.failures + len(times), times[-1]) if times else record
    success = max(finished(pod) for pod in succeeded)
    later = [each for each in times if each > success]
    return BackoffRecord(len(later), later[-1]) if later else BackoffRecord()


def remaining(record: BackoffRecord, now: dt.datetime) -> float:
    """Seconds of back-off that are left."""
    if not record.failures or record.last is None:
        return 0.0
    delay = backoff.exponential_delay(record.failures, INITIAL_BACKOFF, MAX_BACKOFF)
    return max(0.0, delay - (now - record.last).total_seconds())


def remaining_for_index(replaced: Pod | None, now: dt.datetime) -> float:
    if replaced is None:
        return 0.0
    return remaining(BackoffRecord(sum(pod_indexes.failures(replaced)) + 1, finished(replaced)), now)
