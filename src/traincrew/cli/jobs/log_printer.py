"""The logs that there are of a job, from the API and from the disk, put into the order of time; or followed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import pathlib
import sys
from collections.abc import AsyncGenerator

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.cli import cluster_target
from traincrew.cli.jobs import (
    container_runs,
    job_informer,
    job_references,
    log_merge,
    log_streams,
    query,
    stored_logs,
    time_arguments,
)
from traincrew.cli.jobs.console import Console
from traincrew.cli.render import observed_job
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import objects

SLACK = 2
"""Seconds that clocks may differ, and that creation times are rounded by."""


@dataclasses.dataclass(frozen=True)
class LogRequest:
    follow: bool = False
    replica: str = ""
    container: str = ""
    since: str = ""
    tail: int | None = None
    previous: bool = False
    timestamps: bool = False
    prefix: bool | None = None

    def wanted(self) -> pod_logs.Wanted:
        since = ""
        if self.since:
            since = times.rfc3339(time_arguments.moment(self.since, clock.now()).astimezone(dt.UTC))
        return pod_logs.Wanted(previous=self.previous, tail=self.tail, since=since)


@dataclasses.dataclass(frozen=True)
class LogSource:
    position: pod_logs.LogPosition
    uid: str
    kept: bool
    """To be read from the disk."""
    alone: bool
    """The pod's only container."""
    replica: str = ""
    unstarted: str = ""
    """Why there is no log of it, and never will be."""


async def print_logs(name: str, target_options: cluster_target.TargetOptions, request: LogRequest) -> None:
    if request.follow and request.previous:
        raise errors.SettingsError("--previous cannot be used with --follow")
    request.wanted()  # what is wrong with it is told before anything else
    console = Console(sys.stdout.buffer, sys.stderr.buffer)
    try:
        async with query.connected(target_options) as (client, target):
            root = target.local.data / "logs" if target.local is not None else None
            if request.follow:
                await _follow(client, target, name, request, console)
            else:
                await _show(client, root, await _sources(client, target, root, name, request), request, console)
    except BrokenPipeError:
        _quietly()


def _quietly() -> None:
    """Whoever read our output has had enough; that Python cannot write the rest is no news."""
    with contextlib.suppress(OSError):
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115


async def _follow(
    client: RemoteClient, target: cluster_target.ClusterTarget, name: str, request: LogRequest, console: Console
) -> None:
    seen, found = await query.get_job(client, target.namespace, name)
    several = (
        len([pod for pod in seen.pods if observed_job.matches(seen.replica(pod), request.replica or seen.replica(pod))]) != 1
    )
    prefix = several if request.prefix is None else request.prefix
    choice = log_streams.LogSelection(
        request.replica, request.container, request.wanted(), earlier=False, timestamps=request.timestamps, prefix=prefix
    )
    key = job_informer.JobKey(found.kind, target.namespace, seen.job.name, seen.job.metadata.uid)
    informer = job_informer.JobInformer(client, key)
    root = target.local.data / "logs" if target.local is not None else None
    async with informer.started():
        shown = log_streams.LogStreams(client, informer, console, choice, root)
        running = asyncio.create_task(shown.run())
        try:
            await _until_over(informer)
            await shown.drain(5.0)
        finally:
            running.cancel()
            await shown.close()


async def _until_over(informer: job_informer.JobInformer) -> None:
    while True:
        heard, now = informer.changes, informer.observe()
        if informer.deleted or (now is not None and now.job.status.finished and not any(pod.active for pod in now.pods)):
            return
        await informer.changed(heard)


async def _sources(
    client: RemoteClient, target: cluster_target.ClusterTarget, root: pathlib.Path | None, name: str, request: LogRequest
) -> list[LogSource]:
    named = job_references.parse(name)
    try:
        seen, found = await query.get_job(client, target.namespace, name)
    except errors.NoJob:
        gone = (
            _kept(root, stored_logs.of_job(root, target.namespace, named.kind, named.name), set(), target.namespace)
            if root
            else []
        )
        if not gone:
            raise
        return _chosen(gone, named.name, request)
    live = [source for pod in seen.pods for source in _of_pod(root, pod, request.container)]
    kept = []
    if root is not None:
        made = seen.job.metadata.creation_timestamp
        earliest = f"{made - dt.timedelta(seconds=SLACK):%Y-%m-%dT%H:%M:%S}".encode() if made else b""
        old = [each for each in stored_logs.of_job(root, target.namespace, found.kind, seen.job.name) if each.began >= earliest]
        kept = _kept(root, old, {pod.metadata.uid for pod in seen.pods}, target.namespace)
    if not live and not kept:
        raise errors.NoJob(f"{seen.reference} has no logs yet. Run `traincrew why {seen.reference}` to see why it is waiting.")
    return _chosen([*kept, *live], seen.job.name, request)


def _of_pod(root: pathlib.Path | None, pod: objects.Pod, container: str) -> list[LogSource]:
    names = [container] if container else [each.name for each in pod.status.container_statuses]
    on_disk = stored_logs.of_pod(root, pod.metadata.namespace, pod.name, pod.metadata.uid) if root is not None else []
    return [
        LogSource(
            pod_logs.LogPosition(pod.metadata.namespace, pod.name, each),
            pod.metadata.uid,
            each in on_disk,
            len(pod.status.container_statuses) <= 1,
            unstarted=container_runs.unstarted(pod, each),
        )
        for each in names
    ]


def _kept(root: pathlib.Path, found: list[stored_logs.Kept], living: set[str], namespace: str) -> list[LogSource]:
    return [
        LogSource(pod_logs.LogPosition(namespace, each.pod, container), each.uid, True, len(each.containers) == 1)
        for each in found
        if each.uid not in living
        for container in each.containers
    ]


def _chosen(sources: list[LogSource], job: str, request: LogRequest) -> list[LogSource]:
    named = [dataclasses.replace(each, replica=observed_job.replica(job, each.position.pod)) for each in sources]
    found = [
        each
        for each in named
        if (not request.replica or observed_job.matches(each.replica, request.replica))
        and request.container in ("", each.position.container)
    ]
    if not found:
        known = ", ".join(dict.fromkeys(each.replica for each in named))
        raise errors.NoJob(f"no logs of this replica or container. Logs exist for: {known}.")
    return found


async def _show(
    client: RemoteClient, root: pathlib.Path | None, sources: list[LogSource], request: LogRequest, console: Console
) -> None:
    prefix = len(sources) > 1 if request.prefix is None else request.prefix
    failures: list[str] = []
    streams_of = [_lines(client, root, source, request, failures) for source in sources]
    names = [_name(source) if prefix else "" for source in sources]
    async for index, lines in log_merge.merge(streams_of):
        console.lines(names[index], lines, timestamps=request.timestamps)
    for error in failures:
        console.message(error)
    if failures and len(failures) == len(sources):
        raise errors.NoJob("cannot read any log")


def _name(source: LogSource) -> str:
    return source.replica if source.alone else f"{source.replica}/{source.position.container}"


async def _lines(
    client: RemoteClient, root: pathlib.Path | None, source: LogSource, request: LogRequest, failures: list[str]
) -> AsyncGenerator[list[pod_logs.Line], None]:
    if source.unstarted:
        failures.append(f"{source.position.pod}: {source.unstarted}")
        return
    if source.kept and root is not None:
        async for batch in stored_logs.lines(root, source.position, source.uid, request.wanted()):
            yield batch
        return
    try:
        async with contextlib.aclosing(pod_logs.lines(client, source.position, request.wanted())) as batches:
            async for batch in batches:
                yield batch
    except errors.ApiError as error:
        failures.append(f"{source.position.pod}: {error.message}")
