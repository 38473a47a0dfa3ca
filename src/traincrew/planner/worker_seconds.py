"""What the workers of an elastic job do with their time: they train, start, leave or wait, each a number of worker seconds.

The status has the sums up to a time and how many workers have been in each part since. So it is written only when a worker
changes its part, and readers know the sums of every moment. The parts of workers on a node add up to the life of their pods.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

import msgspec

from traincrew.kinds import elasticity
from traincrew.model import naming, objects
from traincrew.model.meta import Time
from traincrew.model.status import ElasticResize, JobStatus, WorkerSeconds
from traincrew.planner import deadlines
from traincrew.planner.replicas import Replicas

ASKED, SURPLUS, STARTING, LEAVING, WAITING = "asked", "surplus", "starting", "leaving", "waiting"
ON_NODES = (ASKED, SURPLUS, STARTING, LEAVING)


def record(replicas: Replicas, status: JobStatus, now: Time) -> JobStatus:
    """The status with the worker seconds up to now, if a worker has changed its part."""
    before = status.worker_seconds
    if before is None and (status.elastic is None or not status.elastic.members):
        return status
    counted = status.elastic is not None and not status.finished
    workers = dict(sorted(collections.Counter(_parts(replicas)).items())) if counted else {}
    resize, redone = _new_resize(replicas.job.status, status), _redone(replicas, status)
    if before is not None and workers == before.workers and resize is None and not redone:
        return status
    sums = (before or WorkerSeconds()).at(deadlines.whole(now))
    resizes = dict(before.resizes) if before is not None else {}
    if resize is not None:
        resizes[resize.reason] = resizes.get(resize.reason, 0) + 1
    after = WorkerSeconds(
        **{part: int(seconds) for part, seconds in sums.items()}, workers=workers, resizes=resizes, until=deadlines.whole(now)
    )
    return msgspec.structs.replace(status, worker_seconds=msgspec.structs.replace(after, redone=after.redone + redone))


def number_on_nodes(status: JobStatus) -> int:
    """The number of workers on nodes since the last change. The life of a pod counts from the time at which it is recorded."""
    workers = status.worker_seconds.workers if status.worker_seconds is not None else {}
    return sum(workers.get(part, 0) for part in ON_NODES)


def _parts(replicas: Replicas) -> Iterator[str]:
    members = {slot.replica.name for slot in replicas.slots}
    worker = naming.replica(replicas.job.name, elasticity.ROLE, 0).removesuffix("0")
    for pod in replicas.own_pods:
        if pod.name.startswith(worker) and pod.status.phase not in ("Succeeded", "Failed"):
            yield _part(pod, member=pod.name in members)


def _part(pod: objects.Pod, *, member: bool) -> str:
    if not pod.spec.node_name:
        return WAITING
    if pod.terminating or not member:
        return LEAVING
    ready = pod.status.condition("Ready")
    if not pod.active or (ready is not None and ready.status != "True"):
        return STARTING
    return SURPLUS if naming.SURPLUS in pod.metadata.labels else ASKED


def _new_resize(before: JobStatus, after: JobStatus) -> ElasticResize | None:
    """The change of the number of workers that this status reports. Its message may become known later."""
    known, new = (status.elastic.last_resize if status.elastic is not None else None for status in (before, after))
    if new is None or (known is not None and (known.at, known.before, known.after) == (new.at, new.before, new.after)):
        return None
    return new


def _redone(replicas: Replicas, status: JobStatus) -> int:
    """Work since the last checkpoint that all workers repeat after a change or a loss, as the job declares it."""
    if status.elastic is None:
        return 0
    old, new = (each.restarts.charged + each.restarts.disruptions for each in (replicas.job.status, status))
    resize = _new_resize(replicas.job.status, status)
    staying = replicas.job.count(elasticity.ROLE) if resize is None else min(resize.before, resize.after)
    changes = max(new - old, 0 if resize is None else 1)
    return int(changes * replicas.kind.lifecycle.elastic(replicas.job).cost.redo * staying)
