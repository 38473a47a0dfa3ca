"""The book of restarts: each lost pod is entered once, by UID, before it is deleted, and so is each that we send away ourselves.

In one attempt only the first loss counts, as charged or as excused; what falls after it, before all replicas have run again,
are its victims and follow it whatever their restart policy says.
"""

from __future__ import annotations

import dataclasses
import datetime as dt

import msgspec

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus, Restarts
from traincrew.planner import clock, failure_records, losses, secondary_failures
from traincrew.planner.losses import Loss
from traincrew.planner.replicas import Replicas

CALM = dt.timedelta(minutes=10)
"""After this long without a loss the delays begin anew."""
FIRST_DELAY = 10
LONGEST_DELAY = 300


@dataclasses.dataclass(frozen=True)
class Accounting:
    """What the losses of a job come to."""

    book: Restarts
    fresh: tuple[Loss, ...] = ()
    """Losses seen for the first time, the earliest first."""
    tolerated: frozenset[str] = frozenset()
    """UIDs of failed pods that are left as they are."""
    fatal: Loss | None = None
    """The loss that ends the job."""
    cause: Failure | None = None
    """What an attempt has just been lost by."""
    seen: tuple[Failure, ...] = ()
    """Failures beside the losses, the earliest first: inside living pods, in tolerated ones, in another controller's."""


def account(replicas: Replicas, status: JobStatus, now: Time) -> Accounting:
    kind, book = replicas.kind, status.restarts
    there = {pod.metadata.uid for pod in (*replicas.own_pods, *replicas.observed.vanished)}
    known = frozenset(book.entered)
    # Pods that we send away ourselves are entered too: should their replicas be wanted again, they are no losses.
    entered = {uid for uid in known if uid in there} | {pod.metadata.uid for pod in replicas.surplus_pods}
    found = _losses(replicas, now)
    tolerated = [loss for loss in found if loss.verdict(kind) == "tolerate"]
    fresh = [loss for loss in found if loss.uid not in known and loss.verdict(kind) != "tolerate"]
    cause = next((loss for loss in fresh if _new_attempt(book, loss)), None)
    fatal = cause if cause is not None and cause.verdict(kind).startswith("fail") else None
    if fatal is None:
        for loss in fresh:
            book = _enter(replicas, book, loss, now)
        entered |= {loss.uid for loss in fresh}
    left = frozenset(loss.uid for loss in tolerated)
    if book.open and not fresh and _all_settled(replicas, left):
        book = msgspec.structs.replace(book, open=False, retry_at=None)
    book = msgspec.structs.replace(book, entered=sorted(entered))
    book = status.restarts if book == status.restarts else book  # an untouched book is left out of the status
    record = failure_records.of_loss(kind, cause) if cause is not None else None
    seen = _seen(replicas, tolerated, msgspec.structs.replace(status, restarts=book), now)
    return Accounting(book, tuple(fresh), left, fatal, record, seen)


def _losses(replicas: Replicas, now: Time) -> list[Loss]:
    """Every lost pod, the earliest first; of two in the same second the one that failed by itself."""
    places = {slot.replica.name: slot.replica for slot in replicas.slots}
    # A pod is re-created after its loss is entered: where the place is taken again, another operator has done both.
    taken = {pod.name for pod in replicas.own_pods}
    gone = [pod for pod in replicas.observed.vanished if pod.name not in taken]
    seen = [(pod, False) for pod in replicas.own_pods] + [(pod, True) for pod in gone]
    examined = (losses.examine(replicas.kind, places[pod.name], pod, now, gone=lost) for pod, lost in seen if pod.name in places)
    found = [loss for loss in examined if loss is not None]
    return sorted(found, key=lambda loss: (loss.at, loss.disruption, loss.pod.name, loss.uid))


def _new_attempt(book: Restarts, loss: Loss) -> bool:
    """A pod made after all pods of the lost attempt belongs to the attempt that followed it."""
    made = loss.pod.metadata.creation_timestamp
    return not book.open or book.youngest is None or (made is not None and made > book.youngest)


def _enter(replicas: Replicas, book: Restarts, loss: Loss, now: Time) -> Restarts:
    # Restarts inside a pod would be forgotten with it.
    charged = book.charged + restart_count(loss.pod)
    if not _new_attempt(book, loss):
        return msgspec.structs.replace(book, charged=charged)
    calm = book.last_loss is not None and now - book.last_loss > CALM
    streak = 1 if calm else book.streak + 1
    stamp = clock.whole(now)
    return msgspec.structs.replace(
        book,
        charged=charged + (0 if loss.disruption else 1),
        disruptions=book.disruptions + (1 if loss.disruption else 0),
        open=True,
        streak=streak,
        last_loss=stamp,
        youngest=_youngest(replicas),
        retry_at=_retry_at(stamp, streak),
    )


def _youngest(replicas: Replicas) -> Time | None:
    made = (pod.metadata.creation_timestamp for pod in (*replicas.own_pods, *replicas.observed.vanished))
    return max((moment for moment in made if moment is not None), default=None)


def _retry_at(now: Time, streak: int) -> Time | None:
    """The first restart comes at once, then 10 s, 20 s, 40 s … up to five minutes."""
    if streak <= 1:
        return None
    return now + dt.timedelta(seconds=min(FIRST_DELAY * 2 ** min(streak - 2, 10), LONGEST_DELAY))


def _all_settled(replicas: Replicas, tolerated: frozenset[str]) -> bool:
    return all(slot.settled or (slot.pod is not None and slot.pod.metadata.uid in tolerated) for slot in replicas.slots)


def _seen(replicas: Replicas, tolerated: list[Loss], status: JobStatus, now: Time) -> tuple[Failure, ...]:
    """What fails inside pods while an attempt is being lost is a consequence of that, and not worth a record."""
    found = [failure_records.of_loss(replicas.kind, loss) for loss in (*tolerated, *_delegated(replicas, now)) if not loss.disruption]
    if not status.restarts.open:
        living = [(slot.pod, failure_records.of_container(slot.replica, slot.pod)) for slot in replicas.slots if slot.pod is not None]
        found += [record for pod, record in living if record and not secondary_failures.is_secondary(replicas, status, pod, record)]
    return tuple(sorted(found, key=_when))


def _when(record: Failure) -> tuple[str, str, str]:
    return (record.time.isoformat() if record.time else "", record.pod, record.uid)


def _delegated(replicas: Replicas, now: Time) -> list[Loss]:
    names = [role.name for role in replicas.kind.roles if role.delegated and role.name in replicas.job.roles]
    found = (losses.examine(replicas.kind, replicas.replica(name), pod, now) for name in names for pod in replicas.delegated_pods)
    return [loss for loss in found if loss is not None]


def restart_count(pod: objects.Pod) -> int:
    return sum(status.restart_count for status in pod.status.container_statuses + pod.status.init_container_statuses)


def container_restarts(replicas: Replicas, book: Restarts) -> int:
    """Restarts inside pods that run now; the kubelet did them, and they count against the limit too."""
    known = frozenset(book.entered)
    pods = (slot.pod for slot in replicas.slots if slot.pod is not None and slot.pod.status.phase == "Running")
    return sum(restart_count(pod) for pod in pods if pod.metadata.uid not in known)
