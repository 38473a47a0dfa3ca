"""Prints the logs of a job, from the API and from stored files, sorted by time; or follows them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import AsyncGenerator, Sequence

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import latest_job, log_documents, log_sources, log_streams, query
from traincrew.cli.jobs.log_sources import LogRequest, LogSource
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.cli.render import terminal
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.client.remote import RemoteClient
from traincrew.inspection import job_informer, job_references, log_files, log_merge, observed_job

DRAIN_SECONDS = 5.0
"""Replicas have ended, and their logs bring no line for so long: they cannot be read."""


async def print_logs(name: str, target_options: cluster_target.HistoryTargetOptions, request: LogRequest) -> None:
    request.check()
    if request.form in ("json", "yaml"):
        request = dataclasses.replace(request, prefix=True)
    try:
        if request.recording:
            await _print_recording(name, request)
            return
        async with query.connected(target_options) as (client, target):
            name = name or await latest_job.find(client, target.namespace)
            if request.follow and (job := await _growing(client, target, name)) is not None:
                await _follow(client, target, job, request)
            else:
                await _print_existing(client, target_options, target, name, request)
    except BrokenPipeError:
        _discard_output()


async def _print_recording(name: str, request: LogRequest) -> None:
    from traincrew.cli.jobs import opened_job

    async with opened_job.opened(request.recording, name) as (found, _):
        await _print(found.reader, None, log_sources.of_recorded_job(found.observed, request), request)


async def _print_existing(
    client: RemoteClient,
    target_options: cluster_target.HistoryTargetOptions,
    target: cluster_target.ClusterTarget,
    name: str,
    request: LogRequest,
) -> None:
    """Of a job that exists, else from the files of this machine, else from the history."""
    try:
        sources = await log_sources.find(client, target, name, request)
    except log_sources.JobGone as missing:
        from traincrew.cli.jobs import recorded_jobs

        async with recorded_jobs.find(target_options, target, name, missing) as found:
            await _print(found.reader, None, log_sources.of_recorded_job(found.observed, request), request)
        return
    await _print(client, log_sources.root(target), sources, request)


async def _print(reader: LogReader, root: pathlib.Path | None, sources: Sequence[LogSource], request: LogRequest) -> None:
    if request.form == "name":
        terminal.echo("".join(f"pod/{pod}\n" for pod in dict.fromkeys(each.position.pod for each in sources)), nl=False)
    else:
        await _print_sorted(reader, root, sources, request)


def _console(form: str) -> TerminalOutput:
    out, err = sys.stdout.buffer, sys.stderr.buffer
    return TerminalOutput(out, err) if form == "text" else log_documents.LogDocuments(out, err, form)


def _discard_output() -> None:
    """The reader of the output is gone: keep Python from reporting that it cannot flush standard output."""
    with contextlib.suppress(OSError):
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115


async def _growing(
    client: RemoteClient, target: cluster_target.ClusterTarget, name: str
) -> tuple[observed_job.ObservedJob, job_references.StoredJob] | None:
    """The job, if its logs may grow."""
    try:
        found = await query.get_job(client, target.namespace, name)
    except errors.NoJob:
        return None
    return None if found[0].complete else found


async def _follow(
    client: RemoteClient,
    target: cluster_target.ClusterTarget,
    job: tuple[observed_job.ObservedJob, job_references.StoredJob],
    request: LogRequest,
) -> None:
    observed, stored = job
    key = job_informer.JobKey(stored.kind, target.namespace, observed.job.name, observed.job.metadata.uid)
    informer = job_informer.JobInformer(client, key)
    console, choice = _console(request.form), _followed(observed, request)
    async with informer.started():
        streams = log_streams.LogStreams(client, informer, console, choice, log_sources.root(target))
        running = asyncio.create_task(streams.run())
        try:
            await streams.complete()
            await streams.drain(DRAIN_SECONDS)
            if error := streams.error():
                console.message(error)
        finally:
            running.cancel()
            await streams.close()


def _followed(observed: observed_job.ObservedJob, request: LogRequest) -> log_streams.LogSelection:
    chosen = [pod for pod in observed.pods if request.selects(observed.replica(pod))]
    prefix = len(chosen) != 1 if request.prefix is None else request.prefix
    return log_streams.LogSelection(
        request.replica, request.container, request.wanted(), earlier=False, timestamps=request.timestamps, prefix=prefix
    )


async def _print_sorted(client: LogReader, root: pathlib.Path | None, sources: Sequence[LogSource], request: LogRequest) -> None:
    console = _console(request.form)
    prefix = len(sources) > 1 if request.prefix is None else request.prefix
    failures: list[str] = []
    streams = [_lines(client, root, source, request, failures) for source in sources]
    names = [source.name if prefix else "" for source in sources]
    async for index, lines in log_merge.merge(streams):
        console.lines(names[index], lines, timestamps=request.timestamps)
    for error in failures:
        console.message(error)
    if failures and len(failures) == len(sources):
        raise errors.NoJob("cannot read any log")


async def _lines(
    client: LogReader, root: pathlib.Path | None, source: LogSource, request: LogRequest, failures: list[str]
) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
    if source.never_ran:
        failures.append(f"{source.position.pod}: {source.never_ran}")
        return
    if source.stored and root is not None:
        async for batch in log_files.lines(root, source.position, source.uid, request.wanted()):
            yield batch
        return
    try:
        async with contextlib.aclosing(pod_logs.lines(client, source.position, request.wanted())) as batches:
            async for batch in batches:
                yield batch
    except errors.ApiError as error:
        failures.append(f"{source.position.pod}: {error.message}")
