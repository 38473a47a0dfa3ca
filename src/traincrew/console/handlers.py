"""The REST paths: each reads or changes something and answers with a message of the contract."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec
from aiohttp import web

from traincrew import errors
from traincrew.client import clock
from traincrew.client.interfaces import LogReader
from traincrew.console import (
    capabilities,
    cluster_queries,
    environments,
    job_actions,
    job_metrics,
    job_reader,
    log_reader,
    log_requests,
    log_selection,
    object_queries,
    pod_views,
    recorded_jobs,
    simulation,
    submission,
    tensorboard,
)
from traincrew.console.contract import metrics, requests, scheduling_fit
from traincrew.console.contract import tensorboard as tensorboard_messages
from traincrew.console.contract.message import Message
from traincrew.console.settings import ConsoleTarget
from traincrew.console.stored_logs import StoredLogs
from traincrew.console.stream.topics import Services
from traincrew.console.view import job_filters, replica_paging, replica_variables

T = TypeVar("T", bound=msgspec.Struct)
CHUNK_BYTES = 256 * 1024
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")


class HandlerContext(NamedTuple):
    """What the handlers work with."""

    services: Services
    target: ConsoleTarget


Handler = Callable[[HandlerContext, web.Request], Awaitable[web.StreamResponse]]


class Route(NamedTuple):
    method: str
    path: str
    tried: str
    """What the request tries, for messages; `{}` is the job."""
    handler: Handler


def file_name(text: str) -> str:
    """A name that no browser and no header misunderstands."""
    return _FILE_NAME.sub("_", text)


def answer(message: Message) -> web.Response:
    return web.Response(body=msgspec.json.encode(message), content_type="application/json")


async def body(request: web.Request, kind: type[T], max_bytes: int = 0) -> T:
    """The body of the request; an empty one is an object without fields. Raise SettingsError.

    max_bytes: fewer than the limit of all requests; 0: that limit.
    """
    try:
        read = await _read_at_most(request, max_bytes) if max_bytes else await request.read()
        return msgspec.json.decode(read or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.SettingsError(f"the body of the request is not valid: {error}") from None


async def _read_at_most(request: web.Request, limit: int) -> bytes:
    read = bytearray()
    async for chunk in request.content.iter_chunked(64 * 1024):
        read += chunk
        if len(read) > limit:
            raise web.HTTPRequestEntityTooLarge(limit, len(read))
    return bytes(read)


async def manifest(request: web.Request) -> str:
    """Raise ManifestError."""
    try:
        return (await request.read()).decode()
    except UnicodeDecodeError as error:
        raise errors.ManifestError(f"the manifest is not UTF-8 text (byte {error.start})") from None


def job_of(request: web.Request) -> job_reader.JobAddress:
    return job_reader.address(request.match_info["kind"], request.match_info["namespace"], request.match_info["name"])


async def get_capabilities(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await capabilities.read(console.services.client, console.target))


async def list_jobs(console: HandlerContext, request: web.Request) -> web.Response:
    wanted, cache = job_filters.parse(request.query), console.services.cache
    if not console.target.has_cluster:
        raise errors.NoCluster(capabilities.NO_CLUSTER)
    await cache.first_state()
    return answer(job_filters.select(wanted, cache, cache.unreadable, clock.now()))


async def submit_jobs(console: HandlerContext, request: web.Request) -> web.Response:
    text = await manifest(request)
    namespace, dry_run = request.query.get("namespace") or console.target.namespace, request.query.get("dryRun") in ("1", "true")
    return answer(await submission.submit(console.services.client, text, namespace, dry_run=dry_run))


async def get_passports(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(replica_variables.of_manifest(await manifest(request)))


async def get_fit(console: HandlerContext, request: web.Request) -> web.Response:
    namespace = request.query.get("namespace") or console.target.namespace
    return answer(await simulation.fit(console.services.client, console.target, await manifest(request), namespace))


async def simulate_job(console: HandlerContext, request: web.Request) -> web.Response:
    wanted = await body(request, scheduling_fit.WhatIf)
    return answer(await simulation.simulate(console.services.client, console.target, job_of(request), wanted))


async def list_environments(console: HandlerContext, request: web.Request) -> web.Response:
    namespace = request.query.get("namespace") or console.target.namespace
    return answer(await environments.read(console.services.client, console.target, namespace))


class JobSource(NamedTuple):
    """Where a job is read from."""

    job: job_reader.JobAddress
    reader: LogReader
    stored: StoredLogs
    exists: bool = True
    """False: it is the record of the job."""


async def source_of(console: HandlerContext, request: web.Request) -> JobSource:
    """The API server, or the record of the job."""
    job, services = job_of(request), console.services
    if not recorded_jobs.is_recorded(job):
        return JobSource(job, services.client, services.stored)
    found = await recorded_jobs.find(services.history, job)
    return JobSource(found.job, found.reader, StoredLogs(services.client, None), exists=False)


async def get_job(console: HandlerContext, request: web.Request) -> web.Response:
    job, services = job_of(request), console.services
    if recorded_jobs.is_recorded(job):
        return answer(await recorded_jobs.detail(await recorded_jobs.find(services.history, job)))
    return answer(await services.reader.detail(job))


async def delete_job(console: HandlerContext, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Delete)
    return answer(await job_actions.delete(console.services.client, job_of(request), wanted))


async def suspend_job(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await job_actions.set_suspended(console.services.client, job_of(request), True))


async def resume_job(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await job_actions.set_suspended(console.services.client, job_of(request), False))


async def scale_job(console: HandlerContext, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Scale)
    return answer(await job_actions.scale(console.services.client, job_of(request), wanted))


async def rerun_job(console: HandlerContext, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Rerun)
    return answer(await job_actions.rerun(console.services.client, job_of(request), wanted))


async def get_tensorboard(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await tensorboard.info(console.services.client, job_of(request), request.app[pod_views.VIEWS]))


async def start_tensorboard(console: HandlerContext, request: web.Request) -> web.Response:
    wanted = await body(request, tensorboard_messages.StartTensorBoard)
    return answer(await tensorboard.start(console.services.client, job_of(request), console.services.started, wanted))


async def stop_tensorboard(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await tensorboard.stop(console.services.client, job_of(request), request.app[pod_views.VIEWS]))


async def list_replicas(console: HandlerContext, request: web.Request) -> web.Response:
    source, wanted = await source_of(console, request), replica_paging.parse(request.query)
    found = await job_reader.read(source.reader, source.job)
    return answer(replica_paging.page(found.observed, found.pods, wanted))


async def get_replica(console: HandlerContext, request: web.Request) -> web.Response:
    source = await source_of(console, request)
    return answer(await object_queries.replica(source.reader, source.job, request.match_info["replica"]))


async def get_yaml(console: HandlerContext, request: web.Request) -> web.Response:
    source = await source_of(console, request)
    return answer(await object_queries.job_yaml(source.reader, source.job))


async def list_nodes(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await cluster_queries.node_list(console.services.client, console.target.namespace))


async def list_queues(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(await cluster_queries.queue_list(console.services.client))


async def get_metrics(console: HandlerContext, request: web.Request) -> web.Response:
    services, job = console.services, job_of(request)
    if recorded_jobs.is_recorded(job):
        return answer(await recorded_jobs.metrics(await recorded_jobs.find(services.history, job), request.query))
    reader = job_metrics.JobMetricsReader(services.client, services.usage, job, request.query)
    return answer((await reader.read()).message())


async def try_pattern(console: HandlerContext, request: web.Request) -> web.Response:
    return answer(job_metrics.try_pattern(await body(request, metrics.TryPattern)))


async def get_logs(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    wanted, source = log_requests.parse(request.query), await source_of(console, request)
    job, access = source.job, log_selection.LogAccess(source.reader, source.stored, source.exists)
    if wanted.form == "json":
        return answer(await log_reader.page(access, job, wanted))
    selected = await log_selection.of_job(access, job, wanted)
    suffix, media_type = ("ndjson", "application/x-ndjson") if wanted.form == "ndjson" else ("log", "text/plain")
    response = web.StreamResponse(headers={"Content-Type": f"{media_type}; charset=utf-8"})
    if wanted.download:
        name = file_name(f"{job.namespace}-{job.name}.{suffix}")
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    await response.prepare(request)
    chunk = bytearray()
    async for line, raw in log_reader.lines(access, selected, wanted):
        chunk += msgspec.json.encode(line) if wanted.form == "ndjson" else f"{line.time} {line.source} ".encode() + raw
        chunk += b"\n"
        if len(chunk) >= CHUNK_BYTES:
            await response.write(bytes(chunk))
            chunk.clear()
    await response.write(bytes(chunk))
    await response.write_eof()
    return response


JOB = "/jobs/{namespace}/{kind}/{name:[^/:]+}"
ROUTES = (
    Route("GET", "/capabilities", "read what the cluster has", get_capabilities),
    Route("GET", "/nodes", "list nodes", list_nodes),
    Route("GET", "/queues", "list queues", list_queues),
    Route("GET", "/environments", "list runtime environments", list_environments),
    Route("POST", "/series:try", "try a pattern", try_pattern),
    Route("GET", "/jobs", "list jobs", list_jobs),
    Route("POST", "/jobs", "create a job", submit_jobs),
    Route("POST", "/passport", "say what each replica will be given", get_passports),
    Route("POST", "/fit", "say whether a job fits now", get_fit),
    Route("GET", JOB, "read {}", get_job),
    Route("DELETE", JOB, "delete {}", delete_job),
    Route("POST", f"{JOB}:suspend", "suspend {}", suspend_job),
    Route("POST", f"{JOB}:resume", "resume {}", resume_job),
    Route("POST", f"{JOB}:scale", "scale {}", scale_job),
    Route("POST", f"{JOB}:rerun", "run {} again", rerun_job),
    Route("POST", f"{JOB}:simulate", "say whether {} would start", simulate_job),
    Route("GET", f"{JOB}/replicas", "list the replicas of {}", list_replicas),
    Route("GET", f"{JOB}/replicas/{{replica}}", "read a replica of {}", get_replica),
    Route("GET", f"{JOB}/tensorboard", "read the state of TensorBoard of {}", get_tensorboard),
    Route("POST", f"{JOB}/tensorboard", "start TensorBoard of {}", start_tensorboard),
    Route("DELETE", f"{JOB}/tensorboard", "stop TensorBoard of {}", stop_tensorboard),
    Route("GET", f"{JOB}/yaml", "read {}", get_yaml),
    Route("GET", f"{JOB}/metrics", "read the metrics of {}", get_metrics),
    Route("GET", f"{JOB}/logs", "read the logs of {}", get_logs),
)
