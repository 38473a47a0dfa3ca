"""The REST paths: each reads or changes something and answers with a message of the contract."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec
from aiohttp import web

from traincrew import errors
from traincrew.client import clock
from traincrew.console import (
    capabilities,
    cluster_queries,
    job_actions,
    job_metrics,
    job_reader,
    log_reader,
    log_requests,
    object_queries,
    submission,
)
from traincrew.console.contract import metrics, requests
from traincrew.console.contract.message import Message
from traincrew.console.settings import ConsoleTarget
from traincrew.console.stream.topics import Services
from traincrew.console.view import job_filters, passports

T = TypeVar("T", bound=msgspec.Struct)
CHUNK_BYTES = 256 * 1024
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")


class Console(NamedTuple):
    """What the handlers work with."""

    services: Services
    target: ConsoleTarget


Handler = Callable[[Console, web.Request], Awaitable[web.StreamResponse]]


class Route(NamedTuple):
    method: str
    path: str
    tried: str
    """What the request tries, for messages; `{}` is the job."""
    handler: Handler


def answer(message: Message) -> web.Response:
    return web.Response(body=msgspec.json.encode(message), content_type="application/json")


async def body(request: web.Request, kind: type[T]) -> T:
    """The body of the request; an empty one is an object without fields. Raise SettingsError."""
    try:
        return msgspec.json.decode(await request.read() or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.SettingsError(f"the body of the request is not valid: {error}") from None


async def manifest(request: web.Request) -> str:
    """Raise ManifestError."""
    try:
        return (await request.read()).decode()
    except UnicodeDecodeError as error:
        raise errors.ManifestError(f"the manifest is not UTF-8 text (byte {error.start})") from None


def job_of(request: web.Request) -> job_reader.JobAddress:
    return job_reader.address(request.match_info["kind"], request.match_info["namespace"], request.match_info["name"])


async def get_capabilities(console: Console, request: web.Request) -> web.Response:
    return answer(await capabilities.read(console.services.client, console.target))


async def list_jobs(console: Console, request: web.Request) -> web.Response:
    wanted, cache = job_filters.parse(request.query), console.services.cache
    await cache.first_state()
    return answer(job_filters.select(wanted, cache, cache.unreadable, clock.now()))


async def submit_jobs(console: Console, request: web.Request) -> web.Response:
    text = await manifest(request)
    namespace, dry_run = request.query.get("namespace") or console.target.namespace, request.query.get("dryRun") in ("1", "true")
    return answer(await submission.submit(console.services.client, text, namespace, dry_run=dry_run))


async def get_passports(console: Console, request: web.Request) -> web.Response:
    return answer(passports.of_manifest(await manifest(request)))


async def get_job(console: Console, request: web.Request) -> web.Response:
    return answer(await console.services.reader.detail(job_of(request)))


async def delete_job(console: Console, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Delete)
    return answer(await job_actions.delete(console.services.client, job_of(request), wanted))


async def suspend_job(console: Console, request: web.Request) -> web.Response:
    return answer(await job_actions.set_suspended(console.services.client, job_of(request), True))


async def resume_job(console: Console, request: web.Request) -> web.Response:
    return answer(await job_actions.set_suspended(console.services.client, job_of(request), False))


async def scale_job(console: Console, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Scale)
    return answer(await job_actions.scale(console.services.client, job_of(request), wanted))


async def rerun_job(console: Console, request: web.Request) -> web.Response:
    wanted = await body(request, requests.Rerun)
    return answer(await job_actions.rerun(console.services.client, job_of(request), wanted))


async def get_replica(console: Console, request: web.Request) -> web.Response:
    return answer(await object_queries.replica(console.services.client, job_of(request), request.match_info["replica"]))


async def get_yaml(console: Console, request: web.Request) -> web.Response:
    return answer(await object_queries.job_yaml(console.services.client, job_of(request)))


async def list_nodes(console: Console, request: web.Request) -> web.Response:
    return answer(await cluster_queries.node_list(console.services.client, console.target.namespace))


async def list_queues(console: Console, request: web.Request) -> web.Response:
    return answer(await cluster_queries.queue_list(console.services.client))


async def get_metrics(console: Console, request: web.Request) -> web.Response:
    services = console.services
    reader = job_metrics.JobMetricsReader(services.client, services.usage, job_of(request), request.query)
    return answer((await reader.read()).message())


async def try_pattern(console: Console, request: web.Request) -> web.Response:
    return answer(job_metrics.try_pattern(await body(request, metrics.TryPattern)))


async def get_logs(console: Console, request: web.Request) -> web.StreamResponse:
    job, wanted = job_of(request), log_requests.parse(request.query)
    reader = log_reader.LogAccess(console.services.client, console.services.kept)
    if wanted.form == "json":
        return answer(await log_reader.page(reader, job, wanted))
    selected = await log_reader.logs(reader, job, wanted)
    suffix, media_type = ("ndjson", "application/x-ndjson") if wanted.form == "ndjson" else ("log", "text/plain")
    response = web.StreamResponse(headers={"Content-Type": f"{media_type}; charset=utf-8"})
    if wanted.download:
        name = _FILE_NAME.sub("_", f"{job.namespace}-{job.name}.{suffix}")
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    await response.prepare(request)
    chunk = bytearray()
    async for line, raw in log_reader.lines(reader, selected, wanted):
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
    Route("POST", "/series:try", "try a pattern", try_pattern),
    Route("GET", "/jobs", "list jobs", list_jobs),
    Route("POST", "/jobs", "create a job", submit_jobs),
    Route("POST", "/passport", "say what each replica will be given", get_passports),
    Route("GET", JOB, "read {}", get_job),
    Route("DELETE", JOB, "delete {}", delete_job),
    Route("POST", f"{JOB}:suspend", "suspend {}", suspend_job),
    Route("POST", f"{JOB}:resume", "resume {}", resume_job),
    Route("POST", f"{JOB}:scale", "scale {}", scale_job),
    Route("POST", f"{JOB}:rerun", "run {} again", rerun_job),
    Route("GET", f"{JOB}/replicas/{{replica}}", "read a replica of {}", get_replica),
    Route("GET", f"{JOB}/yaml", "read {}", get_yaml),
    Route("GET", f"{JOB}/metrics", "read the metrics of {}", get_metrics),
    Route("GET", f"{JOB}/logs", "read the logs of {}", get_logs),
)
