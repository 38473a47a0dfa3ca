"""The endpoint /containerLogs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import (
    ContainerNotFound,
    ContainerNotStarted,
    LogOptions,
    PodNotFound,
    StreamingRuntime,
)
from traincrew.serving import query_options


async def respond(request: web.Request, containers: StreamingRuntime) -> web.StreamResponse:
    namespace, pod, container = (request.match_info[name] for name in ("namespace", "pod", "container"))
    options = _options(request)
    chunks = containers.log(namespace, pod, container, options)
    try:
        first = await anext(chunks, b"")
    except PodNotFound as error:
        raise web.HTTPNotFound(text=str(error) or f'pod "{pod}" does not exist') from error
    except ContainerNotFound as error:
        raise web.HTTPNotFound(text=str(error) or f'container "{container}" not found in pod "{pod}"') from error
    except ContainerNotStarted as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        await _send(response, first, chunks, options.limit_bytes)
        await response.write_eof()
    return response


async def _send(response: web.StreamResponse, first: bytes, rest: AsyncIterator[bytes], limit: int | None) -> None:
    left = limit
    chunk = first
    try:
        while True:
            if left is not None:
                chunk = chunk[:left]
                left -= len(chunk)
            if chunk:
                await response.write(chunk)
            if left == 0:
                return
            try:
                chunk = await anext(rest)
            except StopAsyncIteration:
                return
    finally:
        # Closes the log file of a follower, even if no further line is requested.
        if hasattr(rest, "aclose"):
            await rest.aclose()


def _options(request: web.Request) -> LogOptions:
    query = dict(request.query)
    tail = query.pop("tail", "")
    if tail == "all":
        query.pop("tailLines", None)
    elif tail:
        query["tailLines"] = tail
    try:
        options = LogOptions(
            follow=query_options.flag(query, "follow"),
            previous=query_options.flag(query, "previous"),
            timestamps=query_options.flag(query, "timestamps"),
            tail_lines=query_options.number(query, "tailLines"),
            since_seconds=query_options.number(query, "sinceSeconds"),
            since_time=query_options.time(query, "sinceTime"),
            limit_bytes=query_options.number(query, "limitBytes"),
            stream=query.get("stream") or "All",
        )
    except query_options.BadQuery as error:
        raise web.HTTPBadRequest(text='{"message": "Unable to decode query."}') from error
    if not _valid(options):
        raise web.HTTPUnprocessableEntity(text='{"message": "Invalid request."}')
    return options


def _valid(options: LogOptions) -> bool:
    if options.since_seconds is not None and (options.since_time is not None or options.since_seconds < 1):
        return False
    if options.stream not in ("All", "Stdout", "Stderr") or (options.stream != "All" and options.tail_lines is not None):
        return False
    return (options.tail_lines is None or options.tail_lines >= 0) and (options.limit_bytes is None or options.limit_bytes > 0)
