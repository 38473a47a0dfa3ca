"""Restart accounting: each lost pod is recorded once, by UID, before it is deleted; so is each pod that the operator deletes.

In one attempt only the first loss counts, either as a restart or as a disruption. Losses that follow before all replicas run
again are secondary: they are restarted regardless of their restart policy. So are those of `consequences`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt

import msgspec

from traincrew.apimachinery import backoff
from traincrew.kinds.replica import Replica
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus, Restarts
from traincrew.planner import consequences, deadlines, failure_records, first_failures, losses, secondary_failures
from traincrew.planner.consequences import HeldFailure
from traincrew.planner.losses import Loss
from traincrew.planner.replicas import Replicas

BACKOFF_RESET = dt.timedelta(minutes=10)
"""After this time without a loss the back-off starts from its first delay."""
FIRST_DELAY = 10
LONGEST_DELAY = 300


@dataclasses.dataclass(frozen=True)
class Accounting:
    """The consequences of the losses of a job."""

    restarts: Restarts
    new_losses: tuple[Loss, ...] = ()
    """Losses that were not recorded before, the earliest first."""
    tolerated: frozenset[str] = frozenset()
    """UIDs of failed pods that are not replaced."""
    fatal: Loss | None = None
    """The loss that fails the job."""
    held: HeldFailure | None = None
    """A failure that would fail the job, and that the loss of a node may have caused. No loss is recorded while it waits."""
    cause: Failure | None = None
    """The failure or disruption that ended the current attempt."""
    failures: tuple[Failure, ...] = ()
    """Failures other than losses, the earliest first: in containers of live pods, tolerated pods and delegated pods."""
    observed: tuple[Failure, ...] = ()
    """All failures that can be seen now, recorded before or not."""


def account(replicas: Replicas, status: JobStatus, now: Time) -> Accounting:
    kind, restarts = replicas.kind, status.restarts
    existing = {pod.metadata.uid for pod in (*replicas.own_pods, *replicas.observed.vanished)}
    recorded = frozenset(restarts.entered)
    # Surplus pods are recorded too: if the job is scaled up again, their deletion is not a loss.
    entered = {uid for uid in recorded if uid in existing} | {pod.metadata.uid for pod in replicas.excess_pods}
    lost = _losses(replicas, now)
    tolerated = [loss for loss in lost if loss.verdict(kind) == "tolerate"]
    new = [loss for loss in lost if loss.uid not in recorded and loss.verdict(kind) != "tolerate"]
    new, cause, held = _attribute(replicas, status, new, now)
    fatal = cause if cause is not None and cause.verdict(kind).startswith("fail") else None
    if fatal is None:
        for loss in new:
            restarts = _record(replicas, restarts, loss, now)
        entered |= {loss.uid for loss in new}
    tolerated_uids = frozenset(loss.uid for loss in tolerated)
    if restarts.open and not new and _all_settled(replicas, tolerated_uids):
        restarts = msgspec.structs.replace(restarts, open=False, retry_at=None)
    restarts = msgspec.structs.replace(restarts, entered=sorted(entered))
    restarts = status.restarts if restarts == status.restarts else restarts  # the default value is not serialized
    failures = _failures(replicas, tolerated, msgspec.structs.replace(status, restarts=restarts), now)
    records = [failure_records.of_loss(kind, loss) for loss in lost if not loss.disruption]
    record = failure_records.of_loss(kind, cause) if cause is not None else None
    record = first_failures.cause_of(record, records) if record is not None else None
    return Accounting(restarts, tuple(new), tolerated_uids, fatal, held, record, failures, (*records, *failures))


def _attribute(
    replicas: Replicas, status: JobStatus, new: list[Loss], now: Time
) -> tuple[list[Loss], Loss | None, HeldFailure | None]:
    """The new losses, the one that ends the current attempt, and the failure that waits for its cause, if there is one."""
    first = next((loss for loss in new if _starts_attempt(replicas, status.restarts, loss)), None)
    if first is None or first.disruption:
        return new, first, None
    if (earlier := consequences.causing_loss(replicas, first, new)) is not None:
        return [earlier, *(loss for loss in new if loss.uid != earlier.uid)], earlier, None
    held = consequences.hold(replicas, status, first, new, now) if _ends_job(replicas, status.restarts, first) else None
    return ([], None, held) if held is not None else (new, first, None)


def _ends_job(replicas: Replicas, restarts: Restarts, failure: Loss) -> bool:
    limit = replicas.job.policy.backoff_limit
    return failure.verdict(replicas.kind).startswith("fail") or (limit is not None and restarts.charged >= limit)


def observed_failures(replicas: Replicas, now: Time) -> list[Failure]:
    """The failures of the pods of a finished job. A pod that failed by itself while it was being deleted counts too."""
    records = []
    for loss in _losses(replicas, now):
        record = failure_records.of_loss(replicas.kind, dataclasses.replace(loss, disruption=False))
        if not loss.disruption or (record.exit_code or 128) < 128:
            records.append(record)
    return records


def _losses(replicas: Replicas, now: Time) -> list[Loss]:
    """Every lost pod, the earliest first. Within the same second failures come before disruptions."""
    if not replicas.own_pods and not replicas.observed.vanished:
        return []
    by_name = {slot.replica.name: slot.replica for slot in replicas.slots}
    # A pod is re-created after its loss is recorded: if the name is in use again, another operator has done both.
    present = {pod.name for pod in replicas.own_pods}
    vanished = [pod for pod in replicas.observed.vanished if pod.name not in present]
    pods = [(pod, False) for pod in replicas.own_pods] + [(pod, True) for pod in vanished]
    known = ((by_name[pod.name], pod, gone) for pod, gone in pods if pod.name in by_name)
    examined = (losses.examine(replicas.kind, replica, pod, now, gone=gone) for replica, pod, gone in known)
    result = [loss for loss in examined if loss is not None]
    return sorted(result, key=lambda loss: (loss.at, loss.disruption, loss.pod.name, loss.uid))


def _starts_attempt(replicas: Replicas, restarts: Restarts, loss: Loss) -> bool:
    return not _is_secondary(restarts, loss) and not consequences.is_late(replicas, restarts, loss)


def _is_secondary(restarts: Restarts, loss: Loss) -> bool:
    """A pod that was created after all pods of the lost attempt belongs to the next attempt."""
    created = loss.pod.metadata.creation_timestamp
    return restarts.open and restarts.youngest is not None and (created is None or created <= restarts.youngest)


def _record(replicas: Replicas, restarts: Restarts, loss: Loss, now: Time) -> Restarts:
    # The restarts of a pod's containers count too, and the pod is about to be deleted.
    charged = restarts.charged + restart_count(loss.pod)
    if _is_secondary(restarts, loss):
        return msgspec.structs.replace(restarts, charged=charged)
    late = consequences.is_late(replicas, restarts, loss)
    reset = restarts.last_loss is not None and now - restarts.last_loss > BACKOFF_RESET and not late
    streak = 1 if reset else restarts.streak + 1
    stamp = deadlines.whole(now)
    return msgspec.structs.replace(
        restarts,
        charged=charged + (0 if loss.disruption or late else 1),
        disruptions=restarts.disruptions + (1 if loss.disruption else 0),
        open=True,
        streak=streak,
        # A late failure does not extend the time within which others are late, or a job that cannot connect would never fail.
        last_loss=restarts.last_loss if late else stamp,
        youngest=_youngest(replicas),
        retry_at=_retry_at(stamp, streak),
    )


def _youngest(replicas: Replicas) -> Time | None:
    created = (pod.metadata.creation_timestamp for pod in (*replicas.own_pods, *replicas.observed.vanished))
    return max((time for time in created if time is not None), default=None)


def _retry_at(now: Time, streak: int) -> Time | None:
    """The first restart is immediate, then the delay is 10 s, 20 s, 40 s … up to five minutes."""
    if streak <= 1:
        return None
    return now + dt.timedelta(seconds=backoff.exponential_delay(streak - 1, FIRST_DELAY, LONGEST_DELAY))


def _all_settled(replicas: Replicas, tolerated: frozenset[str]) -> bool:
    return all(slot.settled or (slot.pod is not None and slot.pod.metadata.uid in tolerated) for slot in replicas.slots)


def _failures(replicas: Replicas, tolerated: list[Loss], status: JobStatus, now: Time) -> tuple[Failure, ...]:
    """Failures of containers while an attempt is being lost are secondary, and not recorded."""
    lost = (*tolerated, *_delegated(replicas, now))
    records = [failure_records.of_loss(replicas.kind, loss) for loss in lost if not loss.disruption]
    if not status.restarts.open:
        live = [(slot.replica, slot.pod) for slot in replicas.slots if slot.pod is not None]
        for replica, pod in (*live, *_delegated_pods(replicas)):
            record = failure_records.of_container(replica, pod)
            if record and not secondary_failures.is_secondary(replicas, status, pod, record):
                records.append(record)
    return tuple(sorted(records, key=_sort_key))


def _sort_key(record: Failure) -> tuple[str, str, str]:
    return (record.time.isoformat() if record.time else "", record.pod, record.uid)


def _delegated_pods(replicas: Replicas) -> list[tuple[Replica, objects.Pod]]:
    names = [role.name for role in replicas.kind.roles if role.delegated and role.name in replicas.job.roles]
    return [(replicas.replica(name), pod) for name in names for pod in replicas.delegated_pods]


def _delegated(replicas: Replicas, now: Time) -> list[Loss]:
    examined = (losses.examine(replicas.kind, replica, pod, now) for replica, pod in _delegated_pods(replicas))
    return [loss for loss in examined if loss is not None]


def restart_count(pod: objects.Pod) -> int:
    return sum(status.restart_count for status in pod.status.container_statuses + pod.status.init_container_statuses)


def container_restarts_of_all(replicas: Replicas, restarts: Restarts) -> int:
    """Restarts by the kubelet inside pods of any phase that are not recorded as lost."""
    recorded = frozenset(restarts.entered)
    pods = (slot.pod for slot in replicas.slots if slot.pod is not None)
    return sum(restart_count(pod) for pod in pods if pod.metadata.uid not in recorded)


def container_restarts(replicas: Replicas, restarts: Restarts) -> int:
    """Restarts by the kubelet inside running pods. They count against backoffLimit too."""
    recorded = frozenset(restarts.entered)
    pods = (slot.pod for slot in replicas.slots if slot.pod is not None and slot.pod.status.phase == "Running")
    return sum(restart_count(pod) for pod in pods if pod.metadata.uid not in recorded)
