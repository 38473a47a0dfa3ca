"""The REST paths of the history."""

from __future__ import annotations

from aiohttp import web

from traincrew import errors
from traincrew.client import clock, pod_logs
from traincrew.console.contract.history import ConditionHistory, RecordedJobList, RecordedObjectList
from traincrew.console.handlers import HandlerContext, Route, answer
from traincrew.console.view import condition_changes, job_filters, recordings
from traincrew.history.records import JobQuery

MAX_JOBS = 5000


def _query(request: web.Request) -> JobQuery:
    wanted = request.query
    limit = job_filters.whole_number("limit", wanted["limit"]) if wanted.get("limit") else MAX_JOBS
    return JobQuery(
        namespace=wanted.get("namespace", ""),
        kind=wanted.get("kind", ""),
        name=wanted.get("name", ""),
        deleted={"1": True, "0": False}.get(wanted.get("deleted", "")),
        limit=min(limit, MAX_JOBS),
    )


async def list_jobs(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    query, now = _query(request), clock.now()
    found = await console.services.history.jobs(query)
    shown = (recordings.recorded_job(each, now) for each in found.jobs)
    return answer(RecordedJobList(jobs=[each for each in shown if each is not None], truncated=found.truncated))


async def list_objects(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    found = await console.services.history.jobs(_query(request))
    return answer(RecordedObjectList(objects=[recordings.job_object(each) for each in found.jobs]))


async def get_recording(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    found = await console.services.history.read(request.match_info["uid"])
    return answer(recordings.message(found.recording, found.unreadable))


async def get_conditions(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    statuses = await console.services.history.statuses(request.match_info["uid"])
    return answer(ConditionHistory(changes=condition_changes.changes(statuses)))


async def get_log(console: HandlerContext, request: web.Request) -> web.StreamResponse:
    """The log of a container with timestamps, as the kubelet prints it."""
    found = await console.services.history.read(request.match_info["uid"])
    wanted = request.query
    pod = next((each for each in found.recording.pods if each.uid == wanted.get("pod", "")), None)
    if pod is None:
        raise errors.NoJob(f"the job has no recorded pod with UID {wanted.get('pod', '')[:64]!r}")
    options = pod_logs.PodLogOptions(
        previous=wanted.get("previous") == "true",
        tail=job_filters.whole_number("tailLines", wanted["tailLines"]) if wanted.get("tailLines") else None,
        since=wanted.get("sinceTime", ""),
    )
    batches = aiter(found.logs.lines(pod, wanted.get("container", ""), options))
    first: list[pod_logs.PodLogLine] = await anext(batches, [])  # raises Forbidden before the answer begins
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    await response.prepare(request)
    await response.write(_text(first))
    async for batch in batches:
        await response.write(_text(batch))
    await response.write_eof()
    return response


def _text(lines: list[pod_logs.PodLogLine]) -> bytes:
    return b"".join(pod_logs.encode(line) + (b"\n" if line.whole else b"") for line in lines)


ROUTES = (
    Route("GET", "/history/jobs", "list recorded jobs", list_jobs),
    Route("GET", "/history/objects", "list recorded jobs", list_objects),
    Route("GET", "/history/recordings/{uid}", "read a recorded job", get_recording),
    Route("GET", "/history/recordings/{uid}/conditions", "read the conditions of a recorded job", get_conditions),
    Route("GET", "/history/recordings/{uid}/log", "read the log of a recorded job", get_log),
)
