"""What a console reads from, for one set of credentials: a client of the API server, its informers and samplers."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import AsyncIterator

from traincrew.client import retries
from traincrew.client.remote import RemoteClient
from traincrew.client.unconnected import UnconnectedClient
from traincrew.console import (
    capabilities,
    history_reader,
    job_activity,
    job_cache,
    job_reader,
    opened_recordings,
    pod_views,
    stored_logs,
    usage_sampler,
)
from traincrew.console.settings import ConsoleTarget
from traincrew.console.stream.topics import Services

LIMITS = retries.RetryLimits(attempts=2, retry_seconds=2.0, connect_timeout=5.0)
"""A person waits for each request, and the page shows at once that a cluster is away."""


NO_CLUSTER = f"{capabilities.NO_CLUSTER}. Run `traincrew console` for the console of a cluster"


@contextlib.asynccontextmanager
async def running(client: RemoteClient, target: ConsoleTarget) -> AsyncIterator[Services]:
    services = _services(client, target)
    async with services.cache.running(), job_activity.JobActivity(client, services.cache).running():
        try:
            yield services
        finally:
            await services.started.delete()
            await services.opened.close_all()


@contextlib.asynccontextmanager
async def without_cluster(target: ConsoleTarget) -> AsyncIterator[Services]:
    """For recording files alone."""
    services = _services(UnconnectedClient(NO_CLUSTER), target)
    try:
        yield services
    finally:
        await services.opened.close_all()


def _services(client: RemoteClient, target: ConsoleTarget) -> Services:
    cache = job_cache.JobCache(client, target.namespace)
    opened = opened_recordings.OpenedRecordings(target.space)
    history = history_reader.HistoryReader(client, target, opened)
    stored = stored_logs.StoredLogs(client, pathlib.Path(target.log_root) if target.log_root else None, history)
    reader = job_reader.JobReader(client, cache.activities, stored)
    usage, started = usage_sampler.UsageSampler(client, history, target.prometheus), pod_views.StartedPods(client)
    return Services(client, cache, reader, usage, stored, history, started, opened, target.has_cluster)
