"""Logs that the cluster of this machine keeps on the disk, of pods that the API no longer knows."""

from __future__ import annotations

import collections
import datetime as dt
import pathlib
import re
from collections.abc import AsyncIterator
from typing import NamedTuple

from traincrew.client import clock, pod_logs
from traincrew.embedded.kubelet.logs import log_directory, reader
from traincrew.embedded.kubelet.runtime.streaming import LogOptions
from traincrew.kinds.kind import JobKind


class Kept(NamedTuple):
    pod: str
    uid: str
    began: bytes
    containers: tuple[str, ...]


def of_job(root: pathlib.Path, namespace: str, kind: JobKind | None, job: str) -> list[Kept]:
    """The pods of the jobs of that name of which there are logs, oldest first. Without a kind: of any."""
    found = []
    for each in log_directory.list_pod_logs(root):
        if each.namespace == namespace and is_replica(each.pod, kind, job):
            containers = tuple(_trainers(each.containers()))
            began = min((stamp for name in containers if (stamp := log_directory.first_timestamp(each.path / name))), default=b"")
            found.append(Kept(each.pod, each.uid, began, containers))
    return sorted(found, key=lambda kept: kept.began)


def of_pod(root: pathlib.Path, namespace: str, pod: str, uid: str) -> list[str]:
    """The containers of one pod of which there are logs."""
    return _trainers(log_directory.PodLogs(namespace, pod, uid, root / f"{namespace}_{pod}_{uid}").containers())


def newest(root: pathlib.Path, place: pod_logs.LogPosition, uid: str) -> int | None:
    """The last run of a container of which there is a log."""
    attempts = log_directory.attempts(log_directory.container_directory(root, place.namespace, place.pod, uid, place.container))
    return attempts[-1] if attempts else None


def _trainers(names: list[str]) -> list[str]:
    """Without the init containers that the operator adds: their logs do not matter once they have ended."""
    from traincrew.kinds import KINDS

    added = {name for kind in KINDS for name in kind.pods.wait_containers}
    return [name for name in names if name not in added]


def is_replica(pod: str, kind: JobKind | None, job: str) -> bool:
    """Whether a pod bears the name of a replica of that job."""
    from traincrew.kinds import KINDS

    roles = {role.label for each in ((kind,) if kind else KINDS) for role in each.roles}
    # A batch Job's pod ends in five letters and digits of chance.
    return re.fullmatch(rf"{re.escape(job)}-({'|'.join(sorted(roles))})(-[0-9]+|-[a-z0-9]{{5}})?", pod) is not None


async def lines(
    root: pathlib.Path, place: pod_logs.LogPosition, uid: str, wanted: pod_logs.Wanted, before: int | None = None
) -> AsyncIterator[list[pod_logs.Line]]:
    """Of every run (before one), or of the last but one, as it is wanted; a tail is that of all of them together."""
    directory = log_directory.container_directory(root, place.namespace, place.pod, uid, place.container)
    attempts = [number for number in log_directory.attempts(directory) if before is None or number < before]
    if wanted.previous:
        attempts = attempts[-2:-1]
    if wanted.tail is None:
        for attempt in attempts:
            async for batch in _of_run(directory, attempt, wanted):
                yield batch
        return
    last: collections.deque[pod_logs.Line] = collections.deque(maxlen=wanted.tail)
    for attempt in attempts:
        async for batch in _of_run(directory, attempt, wanted):
            last.extend(batch)
    yield list(last)


async def _of_run(directory: pathlib.Path, attempt: int, wanted: pod_logs.Wanted) -> AsyncIterator[list[pod_logs.Line]]:
    begun = b""
    async for piece in reader.read(directory, attempt, _options(wanted), clock.now()):
        *ended, begun = (begun + piece).split(b"\n")
        yield [pod_logs.parse(raw) for raw in ended]
    if begun:
        yield [pod_logs.parse(begun)._replace(whole=False)]


def _options(wanted: pod_logs.Wanted) -> LogOptions:
    since = dt.datetime.fromisoformat(wanted.since.replace("Z", "+00:00")) if wanted.since else None
    return LogOptions(timestamps=True, tail_lines=wanted.tail, since_seconds=wanted.since_seconds, since_time=since)
