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
from traincrew.cli import target as cli_target
from traincrew.cli.jobs import container_runs, informers, log_merge, log_streams, query, stored_logs
from traincrew.cli.jobs import names as jobs_names
from traincrew.cli.render import time_arguments, view
from traincrew.cli.render.screen import Screen
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import objects

SLACK = 2
"""Seconds that clocks may differ, and that creation times are rounded by."""


@dataclasses.dataclass(frozen=True)
class Request:
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
class Source:
    place: pod_logs.LogPosition
    uid: str
    kept: bool
    """To be read from the disk."""
    alone: bool
    """The pod's only container."""
    replica: str = ""
    unstarted: str = ""
    """Why there is no log of it, and never will be."""


async def show(name: str, where: cli_target.TargetOptions, request: Request) -> None:
    if request.follow and request.previous:
        raise errors.SettingsError("--previous cannot be used with --follow")
    request.wanted()  # what is wrong with it is told before anything else
    screen = Screen(sys.stdout.buffer, sys.stderr.buffer)
    try:
        async with query.connected(where) as (client, target):
            root = target.local.data / "logs" if target.local is not None else None
            if request.follow:
                await _follow(client, target, name, request, screen)
            else:
                await _show(client, root, await _sources(client, target, root, name, request), request, screen)
    except BrokenPipeError:
        _quietly()


def _quietly() -> None:
    """Whoever read our output has had enough; that Python cannot write the rest is no news."""
    with contextlib.suppress(OSError):
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115


async def _follow(client: RemoteClient, target: cli_target.Target, name: str, request: Request, screen: Screen) -> None:
    seen, found = await query.job(client, target.namespace, name)
    several = len([pod for pod in seen.pods if view.matches(seen.replica(pod), request.replica or seen.replica(pod))]) != 1
    prefix = several if request.prefix is None else request.prefix
    choice = log_streams.Choice(
        request.replica, request.container, request.wanted(), earlier=False, timestamps=request.timestamps, prefix=prefix
    )
    key = informers.Key(found.kind, target.namespace, seen.job.name, seen.job.metadata.uid)
    copy = informers.Copy(client, key)
    root = target.local.data / "logs" if target.local is not None else None
    async with copy.kept():
        shown = log_streams.Streams(client, copy, screen, choice, root)
        running = asyncio.create_task(shown.run())
        try:
            await _until_over(copy)
            await shown.drain(5.0)
        finally:
            running.cancel()
            await shown.close()


async def _until_over(copy: informers.Copy) -> None:
    while True:
        heard, now = copy.changes, copy.view()
        if copy.gone or (now is not None and now.job.status.finished and not any(pod.active for pod in now.pods)):
            return
        await copy.changed(heard)


async def _sources(
    client: RemoteClient, target: cli_target.Target, root: pathlib.Path | None, name: str, request: Request
) -> list[Source]:
    named = jobs_names.parse(name)
    try:
        seen, found = await query.job(client, target.namespace, name)
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


def _of_pod(root: pathlib.Path | None, pod: objects.Pod, container: str) -> list[Source]:
    names = [container] if container else [each.name for each in pod.status.container_statuses]
    on_disk = stored_logs.of_pod(root, pod.metadata.namespace, pod.name, pod.metadata.uid) if root is not None else []
    return [
        Source(
            pod_logs.LogPosition(pod.metadata.namespace, pod.name, each),
            pod.metadata.uid,
            each in on_disk,
            len(pod.status.container_statuses) <= 1,
            unstarted=container_runs.unstarted(pod, each),
        )
        for each in names
    ]


def _kept(root: pathlib.Path, found: list[stored_logs.Kept], living: set[str], namespace: str) -> list[Source]:
    return [
        Source(pod_logs.LogPosition(namespace, each.pod, container), each.uid, True, len(each.containers) == 1)
        for each in found
        if each.uid not in living
        for container in each.containers
    ]


def _chosen(sources: list[Source], job: str, request: Request) -> list[Source]:
    named = [dataclasses.replace(each, replica=view.replica(job, each.place.pod)) for each in sources]
    found = [
        each
        for each in named
        if (not request.replica or view.matches(each.replica, request.replica))
        and request.container in ("", each.place.container)
    ]
    if not found:
        known = ", ".join(dict.fromkeys(each.replica for each in named))
        raise errors.NoJob(f"no logs of this replica or container. Logs exist for: {known}.")
    return found


async def _show(client: RemoteClient, root: pathlib.Path | None, sources: list[Source], request: Request, screen: Screen) -> None:
    prefix = len(sources) > 1 if request.prefix is None else request.prefix
    troubles: list[str] = []
    streams_of = [_lines(client, root, source, request, troubles) for source in sources]
    names = [_name(source) if prefix else "" for source in sources]
    async for index, lines in log_merge.merged(streams_of):
        screen.lines(names[index], lines, timestamps=request.timestamps)
    for trouble in troubles:
        screen.say(trouble)
    if troubles and len(troubles) == len(sources):
        raise errors.NoJob("cannot read any log")


def _name(source: Source) -> str:
    return source.replica if source.alone else f"{source.replica}/{source.place.container}"


async def _lines(
    client: RemoteClient, root: pathlib.Path | None, source: Source, request: Request, troubles: list[str]
) -> AsyncGenerator[list[pod_logs.Line], None]:
    if source.unstarted:
        troubles.append(f"{source.place.pod}: {source.unstarted}")
        return
    if source.kept and root is not None:
        async for bunch in stored_logs.lines(root, source.place, source.uid, request.wanted()):
            yield bunch
        return
    try:
        async with contextlib.aclosing(pod_logs.lines(client, source.place, request.wanted())) as bunches:
            async for bunch in bunches:
                yield bunch
    except errors.ApiError as error:
        troubles.append(f"{source.place.pod}: {error.message}")
