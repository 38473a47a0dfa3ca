"""Topics: `jobs?FILTERS`, `job:NAMESPACE/KIND/NAME`, and `logs` and `metrics` of a job with filters."""

from __future__ import annotations

import urllib.parse
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader
from traincrew.console.contract.stream import ConsoleMessage
from traincrew.console.history_reader import HistoryReader
from traincrew.console.job_cache import JobCache
from traincrew.console.opened_recordings import OpenedRecordings
from traincrew.console.pod_views import StartedPods
from traincrew.console.stored_logs import StoredLogs
from traincrew.console.usage_sampler import UsageSampler

Send = Callable[[ConsoleMessage], Awaitable[None]]
JOB_TOPICS = ("job", "logs", "metrics")
MAX_TOPIC = 2000
"""Characters of a topic."""


class Services(NamedTuple):
    """What topics read from."""

    client: RemoteClient
    cache: JobCache
    reader: job_reader.JobReader
    usage: UsageSampler
    stored: StoredLogs
    history: HistoryReader
    started: StartedPods
    opened: OpenedRecordings
    has_cluster: bool = True


class Topic(NamedTuple):
    name: str
    job: job_reader.JobAddress | None
    parameters: dict[str, str]


def parse(text: str) -> Topic:
    """Raise UserError if there is no such topic."""
    path, _, query = text.partition("?")
    name, colon, job = path.partition(":")
    parts = [urllib.parse.unquote(part) for part in job.split("/")]
    known = (name == "jobs" and not colon) or (name in JOB_TOPICS and len(parts) == 3 and all(parts))
    if not known or len(text) > MAX_TOPIC:
        expected = ", ".join(["jobs", *(f"{each}:NAMESPACE/KIND/NAME" for each in JOB_TOPICS)])
        raise errors.SettingsError(f"unknown topic {text[:200]!r}: expected one of {expected}")
    parameters = dict(urllib.parse.parse_qsl(query))
    if name == "jobs":
        return Topic(name, None, parameters)
    namespace, kind, job_name = parts
    return Topic(name, job_reader.address(kind, namespace, job_name), parameters)
