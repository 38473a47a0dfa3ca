"""The job of a recording file, without a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.apimachinery import times
from traincrew.cli.jobs import recorded_jobs
from traincrew.cli.render import terminal
from traincrew.client import clock
from traincrew.console import recorded_jobs as shown_jobs
from traincrew.console.view import recordings
from traincrew.history import opened_recording, recording_lines
from traincrew.inspection import job_references
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model.meta import Time


class OpenedJob(NamedTuple):
    found: recorded_jobs.RecordedJob
    exported: Time


@contextlib.asynccontextmanager
async def opened(path: str, name: str) -> AsyncIterator[OpenedJob]:
    """name: the job that is expected; empty: any. Raise RecordingError, NoJob."""
    file = await opened_recording.open_file(path, recording_lines.LOCAL)
    try:
        source = await shown_jobs.of_file(file)
        found = recorded_jobs.of_recording(source.job.kind, source.found.recording, file.logs)
        exported = recordings.time(file.manifest.exported) or clock.now()
        _check(found.observed, name, path)
        terminal.echo(f"This is a recording of {found.observed.reference}, exported at {times.rfc3339(exported)}.", err=True)
        for text in file.missing:
            terminal.echo(f"warning: {text}", err=True)
        yield OpenedJob(found, exported)
    finally:
        await file.close()


def _check(observed: ObservedJob, name: str, path: str) -> None:
    wanted = job_references.parse(name) if name else None
    if wanted is None:
        return
    if wanted.name == observed.job.name and (wanted.kind is None or wanted.kind.singular == observed.kind.singular):
        return
    raise errors.NoJob(f"{path} is a recording of {observed.reference}, not of {name}")
