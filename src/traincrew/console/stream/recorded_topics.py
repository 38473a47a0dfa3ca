"""Topics of a recorded job: one message with everything, then the end."""

from __future__ import annotations

import dataclasses

from traincrew import errors
from traincrew.console import log_reader, log_requests, recorded_jobs
from traincrew.console.contract.logs import LogBatch
from traincrew.console.contract.stream import (
    ConsoleMessage,
    End,
    JobSnapshot,
    LogsSnapshot,
    MetricsSnapshot,
    StreamError,
    Subscribe,
)
from traincrew.console.job_reader import JobAddress
from traincrew.console.recorded_jobs import RecordedSource
from traincrew.console.stored_logs import StoredLogs
from traincrew.console.stream.topics import Send, Services, Topic
from traincrew.console.view import problems


async def run(services: Services, subscribe: Subscribe, topic: Topic, job: JobAddress, send: Send) -> None:
    try:
        source = await recorded_jobs.find(services.history, job)
        await send(await _message(services, subscribe.topic, topic, source))
    except errors.TraincrewError as error:
        found = problems.of(error, f"read the record of {job.reference} in namespace {job.namespace}")
        await send(StreamError(topic=subscribe.topic, error=found, retrying=False))
        return
    await send(End(topic=subscribe.topic, reason="Finished", message=f"this is the record of {source.job.reference}"))


async def _message(services: Services, name: str, topic: Topic, source: RecordedSource) -> ConsoleMessage:
    if topic.name == "job":
        return JobSnapshot(topic=name, cursor=source.found.recording.job.uid, data=await recorded_jobs.detail(source))
    if topic.name == "metrics":
        return MetricsSnapshot(topic=name, data=await recorded_jobs.metrics(source, topic.parameters))
    request = dataclasses.replace(log_requests.parse(topic.parameters), limit=log_requests.MAX_LIMIT)
    access = log_reader.LogAccess(source.reader, StoredLogs(services.client, None))
    page = await log_reader.page(access, source.job, request)
    return LogsSnapshot(topic=name, data=LogBatch(lines=page.lines, sources=page.sources, skipped=0))
