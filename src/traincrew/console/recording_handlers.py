"""The REST paths of recording files: exporting a job, opening a file, and closing it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from traincrew import errors
from traincrew.console import recorded_jobs, recording_export
from traincrew.console.contract.history import OpenedRecording, OpenedRecordingList
from traincrew.console.handlers import JOB, HandlerContext, Route, answer, file_name, job_of
from traincrew.console.job_reader import JobAddress
from traincrew.console.view import problems, recordings
from traincrew.history import opened_recording, recording_lines
from traincrew.history import recording_export as history_export
from traincrew.history.recording_export import ExportedJob

IDLE_SECONDS = 60.0
"""A browser that sends nothing for this time is disconnected."""


async def export_job(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    job = job_of(request)
    found = await _exported(console, job)
    record = found.recording.job
    response = web.StreamResponse(headers={"Content-Type": "application/gzip"})
    name = file_name(f"{record.namespace}-{record.name}{recording_lines.SUFFIX}")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    await response.prepare(request)
    async for chunk in history_export.encoded(found):
        await response.write(chunk)
    await response.write_eof()
    return response


async def _exported(console: HandlerContext, job: JobAddress) -> ExportedJob:
    services = console.services
    if not recorded_jobs.is_recorded(job):
        server = console.target.server
        return await recording_export.of_job(services.client, services.history, services.stored, job, server)
    found = (await recorded_jobs.find(services.history, job)).found
    if found.file is not None:
        raise errors.SettingsError("this is a recording already: copy its file")
    return recording_export.of_record(found, console.target)


async def open_recording(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    limits, opened = recording_lines.UPLOAD, console.services.opened
    if (request.content_length or 0) > limits.file:
        raise too_large(limits.file)
    name = await opened.open(_chunks(request), limits)
    try:
        await recorded_jobs.of_file(opened.get(name))
    except BaseException:
        await opened.close(name)
        raise
    return answer(_message(name, opened.get(name)))


def too_large(limit: int) -> problems.Problem:
    return problems.problem(
        "TooLarge",
        413,
        "open a recording",
        f"the file is larger than {limit >> 20} MiB, which is the limit of the console",
        "Run `traincrew open FILE` on your machine.",
    )


async def _chunks(request: web.Request) -> AsyncIterator[bytes]:
    chunks = request.content.iter_chunked(opened_recording.CHUNK_BYTES)
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                chunk = await anext(chunks, b"")
        except TimeoutError:
            raise errors.RecordingError(f"nothing of the file has arrived for {IDLE_SECONDS:.0f} seconds.") from None
        if not chunk:
            return
        yield chunk


async def list_recordings(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    found = [_message(name, each) for name, each in console.services.opened]
    return answer(OpenedRecordingList(recordings=found[::-1]))


async def close_recording(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    console.services.opened.get(request.match_info["id"])
    await console.services.opened.close(request.match_info["id"])
    return await list_recordings(console, request)


def _message(name: str, found: opened_recording.OpenedRecording) -> OpenedRecording:
    return OpenedRecording(
        id=name,
        namespace=found.job.namespace,
        kind=found.job.kind,
        name=found.job.name,
        exported=recordings.time(found.manifest.exported),
        size=found.size,
    )


ROUTES = (
    Route("GET", f"{JOB}/recording", "export {}", export_job),
    Route("GET", "/recordings", "list the recordings that are open", list_recordings),
    Route("POST", "/recordings", "open a recording", open_recording),
    Route("DELETE", "/recordings/{id}", "close a recording", close_recording),
)
