"""Topics of a recorded job: everything, then the end."""

from __future__ import annotations

import contextlib

from traincrew import errors
from traincrew.console import log_reader, log_requests, log_selection, recorded_jobs
from traincrew.console.contract.logs import LogBatch, LogSource
from traincrew.console.contract.stream import (
    ConsoleMessage,
    End,
    JobSnapshot,
    LogsPatch,
    LogsSnapshot,
    MetricsSnapshot,
    StreamError,
    Subscribe,
)
from traincrew.console.job_reader import JobAddress
from traincrew.console.log_selection import LogAccess
from traincrew.console.recorded_jobs import RecordedSource
from traincrew.console.stored_logs import StoredLogs
from traincrew.console.stream.topics import Send, Services, Topic
from traincrew.console.view import problems
from traincrew.console.view.line_buffer import LineBuffer


async def run(services: Services, subscribe: Subscribe, topic: Topic, job: JobAddress, send: Send) -> None:
    try:
        source = await recorded_jobs.find(services.history, job)
        if topic.name == "logs":
            later = await _send_logs(services, subscribe, topic, source, send)
        else:
            later = False
            await send(await _message(subscribe.topic, topic, source))
    except errors.TraincrewError as error:
        found = problems.of(error, f"read the record of {job.reference} in namespace {job.namespace}")
        await send(StreamError(topic=subscribe.topic, error=found, retrying=False))
        return
    message = f"this is the record of {source.job.reference}"
    await send(End(topic=subscribe.topic, reason="Limited" if later else "Finished", message=message))


async def _message(name: str, topic: Topic, source: RecordedSource) -> ConsoleMessage:
    if topic.name == "job":
        return JobSnapshot(topic=name, cursor=source.found.recording.job.uid, data=await recorded_jobs.detail(source))
    return MetricsSnapshot(topic=name, data=await recorded_jobs.metrics(source, topic.parameters))


async def _send_logs(services: Services, subscribe: Subscribe, topic: Topic, source: RecordedSource, send: Send) -> bool:
    """In messages of a bounded size. Whether there are later lines than those around a moment."""
    request = log_requests.parse(topic.parameters).with_default_tail()
    access = LogAccess(source.reader, StoredLogs(services.client, None), tails=False)
    logs = await log_selection.of_job(access, source.job, request)
    reader, buffer = log_reader.PresentLines(access, request), LineBuffer()
    kind: type[LogsSnapshot | LogsPatch] = LogsSnapshot

    async def flush(*sources: LogSource) -> None:
        nonlocal kind
        taken = buffer.take()
        await send(kind(topic=subscribe.topic, data=LogBatch(lines=taken.lines, sources=[*sources], skipped=taken.skipped)))
        kind = LogsPatch

    async with contextlib.aclosing(reader.read(logs)) as batches:
        async for batch in batches:
            for line in batch:
                buffer.add(line.message)
            while buffer.fills_a_message:
                await flush()
    buffer.skip(reader.dropped)
    while len(buffer) > 0:
        await flush()
    await flush(*(log.message() for log in logs))
    return reader.later
