"""Exports a job as a recording file: from the console of the cluster, which has its history, else from the API server."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from typing import IO, NamedTuple

from traincrew import errors
from traincrew.apimachinery import byte_sizes
from traincrew.cli import cluster_target
from traincrew.cli.jobs import console_addresses, console_client, latest_job, query, recorded_jobs
from traincrew.cli.render import terminal
from traincrew.client.remote import RemoteClient
from traincrew.console import history_reader, job_reader, opened_recordings, recording_export, stored_logs
from traincrew.console.settings import ConsoleTarget
from traincrew.history import recording_export as history_export
from traincrew.history import recording_lines
from traincrew.history.recording_file import RecordingDecoder
from traincrew.history.recording_lines import LogLine, MissingLine, PodLine

STDOUT = "-"
PROGRESS_SECONDS = 0.5


class FoundJob(NamedTuple):
    namespace: str
    name: str
    chunks: AsyncIterator[bytes]


async def export(name: str, target_options: cluster_target.HistoryTargetOptions, output: str, *, force: bool) -> None:
    """output: a file; `-` is standard output; empty: a name made from that of the job."""
    if output == STDOUT and sys.stdout.isatty():
        raise errors.SettingsError("a recording is not text for a terminal. Write it to a file (-o FILE), or to a pipe")
    async with query.connected(target_options) as (client, target):
        name = name or await latest_job.find(client, target.namespace)
        async with _found(client, target_options, target, name) as found:
            path = output or f"{found.namespace}-{found.name}{recording_lines.SUFFIX}"
            with _file(path, force=force) as file:
                report = await _copy(found.chunks, file)
    for text in report.missing:
        terminal.echo(f"warning: {text}", err=True)
    where = "the recording" if output == STDOUT else path
    size = byte_sizes.text(report.size, byte_sizes.FILE_SIZE)
    terminal.echo(f"Wrote {where}: {report.pods} pods, {report.lines} lines of logs, {size}.", err=True)
    if output != STDOUT:
        terminal.echo(f"Run `traincrew open {path}` to look at it, on any machine.", err=True)


@contextlib.asynccontextmanager
async def _found(
    client: RemoteClient, target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget, name: str
) -> AsyncIterator[FoundJob]:
    """A job that exists, else the last one of this name that was deleted."""
    try:
        observed, stored = await query.get_job(client, target.namespace, name)
    except errors.NoJob as missing:
        async with recorded_jobs.listed(target_options, target, name, missing) as (console, objects):
            listed = objects[0]
            name = str(listed.object["metadata"]["name"])
            path = f"jobs/{target.namespace}/{listed.kind}/{name}@{listed.uid}/recording"
            yield FoundJob(target.namespace, name, console.download(path))
        return
    job = job_reader.JobAddress(stored.kind, target.namespace, observed.job.name)
    async with contextlib.AsyncExitStack() as stack:
        try:
            console = await stack.enter_async_context(console_client.connected(target_options, target))
            chunks = console.download(f"jobs/{job.namespace}/{job.kind.singular}/{job.name}/recording")
        except console_addresses.NoConsole:
            chunks = _from_api_server(client, target, job)
        yield FoundJob(job.namespace, job.name, chunks)


async def _from_api_server(
    client: RemoteClient, target: cluster_target.ClusterTarget, job: job_reader.JobAddress
) -> AsyncIterator[bytes]:
    server = target.connection.server
    shown = ConsoleTarget(server=server, namespace=target.namespace, embedded=target.local is not None)
    history = history_reader.HistoryReader(client, shown, opened_recordings.OpenedRecordings(shown.space))
    found = await recording_export.of_job(client, history, stored_logs.StoredLogs(client, target.log_root), job, server)
    async for chunk in history_export.encoded(found):
        yield chunk


class _Report:
    def __init__(self) -> None:
        self.pods = self.lines = self.size = 0
        self.missing = list[str]()

    def take(self, line: recording_lines.Line) -> None:
        self.pods += isinstance(line, PodLine)
        if isinstance(line, LogLine):
            self.lines += recording_lines.chunk(line).lines.count(b"\n")
        elif isinstance(line, MissingLine):
            self.missing.append(line.message)


async def _copy(chunks: AsyncIterator[bytes], file: IO[bytes]) -> _Report:
    """Raise RecordingError if it is not complete. The progress is on standard error, if that is a terminal."""
    report, decoder, shown = _Report(), RecordingDecoder(recording_lines.LOCAL), time.monotonic()
    is_terminal = sys.stderr.isatty()
    async for chunk in chunks:
        file.write(chunk)
        for line in decoder.feed(chunk):
            report.take(line)
        if is_terminal and time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            _progress(f"{byte_sizes.text(decoder.size, byte_sizes.FILE_SIZE)} are written")
    decoder.finish()
    if is_terminal:
        _progress("")
    file.flush()
    report.size = decoder.size
    return report


def _progress(text: str) -> None:
    """In place of the text before it."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


@contextlib.contextmanager
def _file(path: str, *, force: bool) -> Iterator[IO[bytes]]:
    """A file appears under its name when it is complete. Only the user can read it: it has what the job prints."""
    if path == STDOUT:
        yield sys.stdout.buffer
        return
    target = pathlib.Path(path)
    if target.exists() and not force:
        raise errors.SettingsError(f"{path} exists. Choose another name with -o FILE, or replace it with --force")
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                yield file
                file.close()
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise errors.SettingsError(f"cannot write {path}: {error.strerror or error}") from None
