"""Log files of the cluster on this machine, including those of deleted pods."""

from __future__ import annotations

import collections
import pathlib
import re
from collections.abc import AsyncIterator
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.client import clock, pod_logs
from traincrew.embedded.kubelet.logs import kept_pod, log_directory, reader
from traincrew.embedded.kubelet.runtime.streaming import LogOptions
from traincrew.kinds.kind import JobKind
from traincrew.model import meta


class StoredPod(NamedTuple):
    pod: str
    uid: str
    began: bytes
    containers: tuple[str, ...]
    controller: kept_pod.ControllerRef = kept_pod.ControllerRef()


def of_job(root: pathlib.Path, namespace: str, kind: JobKind | None, job: str) -> list[StoredPod]:
    """The pods of the jobs of this name that have log files, oldest first. kind None: jobs of any kind."""
    found = []
    for each in log_directory.list_pod_logs(root):
        if each.namespace == namespace and is_replica(each.pod, kind, job):
            containers = tuple(_trainers(each.containers()))
            began = min((stamp for name in containers if (stamp := log_directory.first_timestamp(each.path / name))), default=b"")
            found.append(StoredPod(each.pod, each.uid, began, containers, kept_pod.read(each.path).controller))
    return sorted(found, key=lambda pod: pod.began)


def of_present_job(root: pathlib.Path, kind: JobKind, job: meta.Meta) -> list[StoredPod]:
    """The pods of this job, not of an earlier one of its name."""
    created = job.creation_timestamp
    earliest = f"{created:%Y-%m-%dT%H:%M:%S}".encode() if created is not None else b""
    found = of_job(root, job.namespace, kind, job.name)
    return [each for each in found if _is_of(each, kind, job.uid, earliest)]


def _is_of(stored: StoredPod, kind: JobKind, uid: str, earliest: bytes) -> bool:
    """A pod of a batch Job, such as a launcher, does not name the job: it is found by time, in whole seconds."""
    if stored.controller.kind == kind.kind:
        return stored.controller.uid == uid
    return stored.began >= earliest


def secrets_replaced(root: pathlib.Path, namespace: str, pod: str, uid: str) -> bool:
    """Whether the log of a pod is without the values of its secret variables, as it is when the pod is gone."""
    directory = log_directory.pod_directory(root, namespace, pod, uid)
    return kept_pod.read(directory).secrets_replaced or not directory.exists()


def of_pod(root: pathlib.Path, namespace: str, pod: str, uid: str) -> list[str]:
    """The containers of a pod that have log files."""
    return _trainers(log_directory.PodLogs(namespace, pod, uid, root / f"{namespace}_{pod}_{uid}").containers())


def newest(root: pathlib.Path, position: pod_logs.ContainerReference, uid: str) -> int | None:
    """The number of the last run that has a log file."""
    attempts = log_directory.attempts(
        log_directory.container_directory(root, position.namespace, position.pod, uid, position.container)
    )
    return attempts[-1] if attempts else None


def _trainers(names: list[str]) -> list[str]:
    """Without the init containers that the operator adds: their logs do not matter once they have ended."""
    from traincrew.kinds import KINDS

    added = {name for kind in KINDS for name in kind.wait_containers}
    return [name for name in names if name not in added]


def is_replica(pod: str, kind: JobKind | None, job: str) -> bool:
    """Whether the name of the pod is that of a replica of the job."""
    from traincrew.kinds import KINDS

    roles = {role.label for each in ((kind,) if kind else KINDS) for role in each.roles}
    # The name of a pod of a batch Job ends in five random characters.
    return re.fullmatch(rf"{re.escape(job)}-({'|'.join(sorted(roles))})(-[0-9]+|-[a-z0-9]{{5}})?", pod) is not None


async def lines(
    root: pathlib.Path, position: pod_logs.ContainerReference, uid: str, wanted: pod_logs.PodLogOptions, before: int | None = None
) -> AsyncIterator[list[pod_logs.PodLogLine]]:
    """The lines of all runs (before the run `before`), or of the previous run. The tail is counted over all runs."""
    directory = log_directory.container_directory(root, position.namespace, position.pod, uid, position.container)
    attempts = [number for number in log_directory.attempts(directory) if before is None or number < before]
    if wanted.previous:
        attempts = attempts[-2:-1]
    if wanted.tail is None:
        for attempt in attempts:
            async for batch in _run_lines(directory, attempt, wanted):
                yield batch
        return
    last: collections.deque[pod_logs.PodLogLine] = collections.deque(maxlen=wanted.tail)
    for attempt in attempts:
        async for batch in _run_lines(directory, attempt, wanted):
            last.extend(batch)
    yield list(last)


async def runs(
    root: pathlib.Path, position: pod_logs.ContainerReference, uid: str
) -> AsyncIterator[tuple[int, list[pod_logs.PodLogLine]]]:
    """All lines, each with the number of its run."""
    directory = log_directory.container_directory(root, position.namespace, position.pod, uid, position.container)
    for attempt in log_directory.attempts(directory):
        async for batch in _run_lines(directory, attempt, pod_logs.PodLogOptions()):
            yield attempt, batch


async def _run_lines(
    directory: pathlib.Path, attempt: int, wanted: pod_logs.PodLogOptions
) -> AsyncIterator[list[pod_logs.PodLogLine]]:
    partial = b""
    async for piece in reader.read(directory, attempt, _options(wanted), clock.now()):
        *ended, partial = (partial + piece).split(b"\n")
        yield [pod_logs.parse(raw) for raw in ended]
    if partial:
        yield [pod_logs.parse(partial)._replace(whole=False)]


def _options(wanted: pod_logs.PodLogOptions) -> LogOptions:
    since = times.parse_optional(wanted.since)
    return LogOptions(timestamps=True, tail_lines=wanted.tail, since_seconds=wanted.since_seconds, since_time=since)
