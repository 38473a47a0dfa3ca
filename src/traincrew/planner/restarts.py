"""The book of restarts: each lost pod is entered once, by UID, before it is deleted.

In one attempt only the first loss counts, as charged or as excused; what falls after it, before all replicas have run again,
are its victims and follow it whatever their restart policy says.
"""

from __future__ import annotations

import dataclasses
import datetime as dt

import msgspec

from traincrew.kinds.kind import JobKind
from traincrew.model.meta import Time
from traincrew.model.status import Failure, Restarts
from traincrew.planner import losses
from traincrew.planner.crew import Crew
from traincrew.planner.losses import Loss

CALM = dt.timedelta(minutes=10)
"""An attempt that ran this long has not failed at its start: the delays begin anew."""
FIRST_DELAY = 10
LONGEST_DELAY = 300


@dataclasses.dataclass(frozen=True)
class Reckoning:
    """What the losses of a job come to."""

    book: Restarts
    fresh: tuple[Loss, ...] = ()
    """Losses seen for the first time, the first cause first."""
    restarted: frozenset[str] = frozenset()
    """UIDs of pods to be replaced."""
    fatal: Loss | None = None
    """The loss that ends the job."""
    first: Failure | None = None
    latest: Failure | None = None


def reckon(crew: Crew, now: Time) -> Reckoning:
    book = crew.job.status.restarts
    found = _losses(crew, now)
    lost = {loss.uid for loss in found}
    entered = [uid for uid in book.entered if uid in lost]
    fresh = [loss for loss in found if loss.uid not in set(entered) and loss.verdict(crew.kind) != "tolerate"]
    fatal = _fatal(crew.kind, book, fresh)
    if fatal is None:
        for loss in fresh:
            book = _enter(book, loss, now)
        entered += [loss.uid for loss in fresh]
    if book.open and not fresh and _all_settled(crew):
        book = msgspec.structs.replace(book, open=False, retry_at=None)
    book = msgspec.structs.replace(book, entered=sorted(entered))
    first, latest = _records(crew, found, fresh)
    return Reckoning(book, tuple(fresh), frozenset(entered), fatal, first, latest)


def _losses(crew: Crew, now: Time) -> list[Loss]:
    """Every lost pod, the earliest first; of two in the same second the one that failed by itself."""
    places = {slot.replica.name: slot.replica for slot in crew.slots}
    found = []
    for pods, gone in ((crew.own_pods, False), (crew.observed.vanished, True)):
        for pod in pods:
            ours = pod.metadata.uid in crew.observed.released
            if pod.name in places and not (ours and pod.status.phase != "Failed"):
                loss = losses.examine(crew.kind, places[pod.name], pod, now, gone=gone)
                if loss is not None:
                    found.append(loss)
    return sorted(found, key=lambda loss: (loss.at, loss.disruption, loss.pod.name, loss.uid))


def _fatal(kind: JobKind, book: Restarts, fresh: list[Loss]) -> Loss | None:
    """The first cause of a new attempt's end, if its restart policy says that the job ends with it."""
    cause = next((loss for loss in fresh if _new_attempt(book, loss)), None)
    return cause if cause is not None and cause.verdict(kind).startswith("fail") else None


def _new_attempt(book: Restarts, loss: Loss) -> bool:
    """A pod made after the last loss belongs to the attempt that followed it."""
    created = loss.pod.metadata.creation_timestamp
    return not book.open or (created is not None and book.last_loss is not None and created > book.last_loss)


def _enter(book: Restarts, loss: Loss, now: Time) -> Restarts:
    # Restarts inside a pod would be forgotten with it.
    inside = sum(status.restart_count for status in loss.pod.status.container_statuses)
    if not _new_attempt(book, loss):
        return msgspec.structs.replace(book, charged=book.charged + inside)
    calm = book.last_loss is not None and now - book.last_loss > CALM
    streak = 1 if calm else book.streak + 1
    stamp = now.replace(microsecond=0)
    return msgspec.structs.replace(
        book,
        charged=book.charged + inside + (0 if loss.disruption else 1),
        disruptions=book.disruptions + (1 if loss.disruption else 0),
        open=True,
        streak=streak,
        last_loss=stamp,
        retry_at=_retry_at(stamp, streak),
    )


def _retry_at(now: Time, streak: int) -> Time | None:
    """The first restart comes at once, then 10 s, 20 s, 40 s … up to five minutes."""
    if streak <= 1:
        return None
    return now + dt.timedelta(seconds=min(FIRST_DELAY * 2 ** min(streak - 2, 10), LONGEST_DELAY))


def _all_settled(crew: Crew) -> bool:
    return all(slot.settled for slot in crew.slots)


def _records(crew: Crew, found: list[Loss], fresh: list[Loss]) -> tuple[Failure | None, Failure | None]:
    """The first failure of the job, and the first of its latest attempt, as far as they can be seen now."""
    own = [losses.failure(crew.kind, loss) for loss in found if not loss.disruption]
    inner = [losses.in_place(crew.kind, slot.replica, slot.pod) for slot in crew.slots if slot.pod is not None]
    seen = [*own, *_delegated(crew), *(record for record in inner if record is not None)]
    if not seen:
        return None, None
    causes = [losses.failure(crew.kind, loss) for loss in fresh[:1] if not loss.disruption]
    return min(seen, key=_when), (causes or [max(seen, key=_when)])[0]


def _when(record: Failure) -> tuple[str, str, str]:
    return (record.time.isoformat() if record.time else "9999", record.pod, record.uid)


def _delegated(crew: Crew) -> list[Failure]:
    roles = [role for role in crew.kind.roles if role.delegated and role.name in crew.job.roles]
    found = []
    for role in roles:
        replica = dataclasses.replace(crew.slots[0].replica, role=role, index=0) if crew.slots else None
        for pod in crew.delegated_pods:
            if replica is not None and pod.status.phase == "Failed":
                ended = [status.state.terminated for status in pod.status.container_statuses if status.state.terminated]
                at = next((state.finished_at for state in ended if state.finished_at), pod.metadata.creation_timestamp)
                if at is not None:
                    found.append(losses.failure(crew.kind, Loss(pod, replica, False, None, at)))
    return found


def container_restarts(crew: Crew) -> int:
    """Restarts inside pods that run now; the kubelet did them, and they count against the limit too."""
    return sum(
        status.restart_count
        for slot in crew.slots
        if slot.pod is not None and slot.pod.status.phase == "Running"
        for status in slot.pod.status.container_statuses + slot.pod.status.init_container_statuses
    )
