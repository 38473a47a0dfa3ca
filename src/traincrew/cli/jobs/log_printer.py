"""Prints the logs of a job, from the API and from stored files, sorted by time; or follows them."""

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
from traincrew.cli.jobs import log_documents, log_streams, query, time_arguments
from traincrew.cli.jobs.console import Console
from traincrew.cli.render import terminal
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.inspection import container_runs, job_informer, job_references, log_merge, observed_job, stored_logs
from traincrew.model import objects

CLOCK_SKEW = 2
"""Seconds of clock skew and of rounding of creation times."""


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
    form: str = "text"

    def wanted(self) -> pod_logs.PodLogOptions:
        since = ""
        if self.since:
            since = times.rfc3339(time_arguments.parse_time(self.since, clock.now()).astimezone(dt.UTC))
        return pod_logs.PodLogOptions(previous=self.previous, tail=self.tail, since=since)


@dataclasses.dataclass(frozen=True)
class LogSource:
    position: pod_logs.LogPosition
    uid: str
    stored: bool
    """Read from stored files."""
    only_container: bool
    """The pod has no other container."""
    replica: str = ""
    never_ran: str = ""
    """Why there is no log and never will be."""


async def print_logs(name: str, target_options: cluster_target.TargetOptions, request: LogRequest) -> None:
    if request.follow and request.previous:
        raise errors.SettingsError("--previous cannot be used with --follow")
    if request.follow and request.form == "name":
        raise errors.SettingsError("-o name cannot be used with --follow")
    request.wanted()  # report invalid values first
    if request.form in ("json", "yaml"):
        request = dataclasses.replace(request, prefix=True)
    console = _console(request.form)
    try:
        async with query.connected(target_options) as (client, target):
            root = target.local.data / "logs" if target.local is not None else None
            if request.follow:
                await _follow(client, target, name, request, console)
                return
            sources = await _sources(client, target, root, name, request)
            if request.form == "name":
                terminal.echo("".join(f"pod/{pod}\n" for pod in dict.fromkeys(each.position.pod for each in sources)), nl=False)
                return
            await _print_sorted(client, root, sources, request, console)
    except BrokenPipeError:
        _discard_output()


def _console(form: str) -> Console:
    out, err = sys.stdout.buffer, sys.stderr.buffer
    return Console(out, err) if form == "text" else log_documents.LogDocuments(out, err, form)


def _discard_output() -> None:
    """The reader of the output is gone: keep Python from reporting that it cannot flush standard output."""
    with contextlib.suppress(OSError):
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115


async def _follow(
    client: RemoteClient, target: cluster_target.ClusterTarget, name: str, request: LogRequest, console: Console
) -> None:
    observed, reference = await query.get_job(client, target.namespace, name)
    several = (
        len(
            [
                pod
                for pod in observed.pods
                if observed_job.matches(observed.replica(pod), request.replica or observed.replica(pod))
            ]
        )
        != 1
    )
    prefix = several if request.prefix is None else request.prefix
    choice = log_streams.LogSelection(
        request.replica, request.container, request.wanted(), earlier=False, timestamps=request.timestamps, prefix=prefix
    )
    key = job_informer.JobKey(reference.kind, target.namespace, observed.job.name, observed.job.metadata.uid)
    informer = job_informer.JobInformer(client, key)
    root = target.local.data / "logs" if target.local is not None else None
    async with informer.started():
        shown = log_streams.LogStreams(client, informer, console, choice, root)
        running = asyncio.create_task(shown.run())
        try:
            await _until_finished(informer)
            await shown.drain(5.0)
        finally:
            running.cancel()
            await shown.close()


async def _until_finished(informer: job_informer.JobInformer) -> None:
    while True:
        seen_changes, now = informer.changes, informer.observe()
        if informer.deleted or (now is not None and now.job.status.finished and not any(pod.active for pod in now.pods)):
            return
        await informer.changed(seen_changes)


async def _sources(
    client: RemoteClient, target: cluster_target.ClusterTarget, root: pathlib.Path | None, name: str, request: LogRequest
) -> list[LogSource]:
    named = job_references.parse(name)
    try:
        observed, reference = await query.get_job(client, target.namespace, name)
    except errors.NoJob:
        gone = (
            _stored_sources(root, stored_logs.of_job(root, target.namespace, named.kind, named.name), set(), target.namespace)
            if root
            else []
        )
        if not gone:
            raise
        return _select(gone, named.name, request)
    live = [source for pod in observed.pods for source in _pod_sources(root, pod, request.container)]
    kept = []
    if root is not None:
        made = observed.job.metadata.creation_timestamp
        earliest = f"{made - dt.timedelta(seconds=CLOCK_SKEW):%Y-%m-%dT%H:%M:%S}".encode() if made else b""
        old = [
            stored
            for stored in stored_logs.of_job(root, target.namespace, reference.kind, observed.job.name)
            if stored.began >= earliest
        ]
        kept = _stored_sources(root, old, {pod.metadata.uid for pod in observed.pods}, target.namespace)
    if not live and not kept:
        raise errors.NoJob(
            f"{observed.reference} has no logs yet. Run `traincrew why {observed.reference}` to see why it is waiting."
        )
    return _select([*kept, *live], observed.job.name, request)


def _pod_sources(root: pathlib.Path | None, pod: objects.Pod, container: str) -> list[LogSource]:
    names = [container] if container else [entry.name for entry in pod.status.container_statuses]
    on_disk = stored_logs.of_pod(root, pod.metadata.namespace, pod.name, pod.metadata.uid) if root is not None else []
    return [
        LogSource(
            pod_logs.LogPosition(pod.metadata.namespace, pod.name, entry),
            pod.metadata.uid,
            entry in on_disk,
            len(pod.status.container_statuses) <= 1,
            never_ran=container_runs.never_ran(pod, entry),
        )
        for entry in names
    ]


def _stored_sources(root: pathlib.Path, pods: list[stored_logs.StoredPod], living: set[str], namespace: str) -> list[LogSource]:
    return [
        LogSource(pod_logs.LogPosition(namespace, pod.pod, container), pod.uid, True, len(pod.containers) == 1)
        for pod in pods
        if pod.uid not in living
        for container in pod.containers
    ]


def _select(sources: list[LogSource], job: str, request: LogRequest) -> list[LogSource]:
    named = [dataclasses.replace(source, replica=observed_job.replica(job, source.position.pod)) for source in sources]
    selected = [
        source
        for source in named
        if (not request.replica or observed_job.matches(source.replica, request.replica))
        and request.container in ("", source.position.container)
    ]
    if not selected:
        known = ", ".join(dict.fromkeys(source.replica for source in named))
        raise errors.NoJob(f"no logs of this replica or container. Logs exist for: {known}.")
    return selected


async def _print_sorted(
    client: RemoteClient, root: pathlib.Path | None, sources: list[LogSource], request: LogRequest, console: Console
) -> None:
    prefix = len(sources) > 1 if request.prefix is None else request.prefix
    failures: list[str] = []
    streams = [_lines(client, root, source, request, failures) for source in sources]
    names = [_name(source) if prefix else "" for source in sources]
    async for index, lines in log_merge.merge(streams):
        console.lines(names[index], lines, timestamps=request.timestamps)
    for error in failures:
        console.message(error)
    if failures and len(failures) == len(sources):
        raise errors.NoJob("cannot read any log")


def _name(source: LogSource) -> str:
    return source.replica if source.only_container else f"{source.replica}/{source.position.container}"


async def _lines(
    client: RemoteClient, root: pathlib.Path | None, source: LogSource, request: LogRequest, failures: list[str]
) -> AsyncGenerator[list[pod_logs.Line], None]:
    if source.never_ran:
        failures.append(f"{source.position.pod}: {source.never_ran}")
        return
    if source.stored and root is not None:
        async for batch in stored_logs.lines(root, source.position, source.uid, request.wanted()):
            yield batch
        return
    try:
        async with contextlib.aclosing(pod_logs.lines(client, source.position, request.wanted())) as batches:
            async for batch in batches:
                yield batch
    except errors.ApiError as error:
        failures.append(f"{source.position.pod}: {error.message}")
