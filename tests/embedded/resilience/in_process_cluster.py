"""A cluster in the process of the test, and requests passed to its handler as the HTTP server passes them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec
from tests.embedded.resilience import object_generator
from tests.embedded.resilience.request_generator import RawRequest

from traincrew import settings
from traincrew.apimachinery import api_errors
from traincrew.app import cluster as app_cluster
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.endpoints import routing
from traincrew.embedded.apiserver.endpoints.watches import Watch, WatchEvent
from traincrew.embedded.apiserver.http import server
from traincrew.embedded.apiserver.requests import request_info
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.bootstrap import bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options


class LoadResult(NamedTuple):
    code: int
    body: bytes


NAMES_BY_KIND = {"CustomResourceDefinition": "widgets.example.com", "Namespace": "other"}
NOT_HANDLED = LoadResult(0, b"")
"""The handler does not serve this request: it is for a page or a stream."""


def options(data: pathlib.Path) -> Options:
    objects = app_cluster.bootstrap_objects(settings.Cluster())
    return Options(data, "127.0.0.1", 0, objects, data / "traincrew.log", "0")


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[ControlPlane]:
    daemon = ControlPlane(options(data))
    try:
        await bootstrap(daemon.system_client("bootstrap"), daemon.options.bootstrap)
        await populate(daemon)
        yield daemon
    finally:
        await daemon.close()


async def populate(daemon: ControlPlane) -> None:
    """Creates one valid object of each kind."""
    for (api_version, kind), objects in object_generator.valid_objects().items():
        info = next((each for each in daemon.registry if (each.api_version, each.kind) == (api_version, kind)), None)
        if info is None or "list" not in info.verbs:  # reviews and bindings are not stored
            continue
        for each in objects:
            namespace = each["metadata"].get("namespace", "default") if info.namespaced else ""
            body = msgspec.json.encode(each | {"metadata": each["metadata"] | {"name": NAMES_BY_KIND.get(kind, "a")}})
            call = ApiRequest(users.administrator(), "create", info, namespace, body=body)
            try:
                await daemon.handler.handle(call)
            except api_errors.StatusError as error:
                if error.reason != "AlreadyExists":
                    raise


async def send(daemon: ControlPlane, request: RawRequest) -> LoadResult:
    """Raises every exception that would be a response with 500 over HTTP."""
    try:
        raw, _, parameters = request.target.partition("?")
        query, target = Query(request_info.query(parameters)), request_info.parse(request_info.decoded(raw))
        info = daemon.registry.find(target.group, target.version, target.resource) if target else None
        if target is None or info is None or target.subresource in server.STREAMED:
            return NOT_HANDLED
        verb = routing.verb(request.method, target, query)
        content_type, accept, agent = (request.headers.get(name, "") for name in ("Content-Type", "Accept", "User-Agent"))
        where = (target.namespace if info.namespaced else "", target.name, target.subresource)
        sent = ApiRequest(users.administrator(), verb, info, *where, query, request.body, content_type, accept, agent)
        return await _handled(daemon, sent)
    except api_errors.PlainTextError:
        return NOT_HANDLED
    except api_errors.StatusError as error:
        return LoadResult(error.code, json.dumps(error.status()).encode())


async def _handled(daemon: ControlPlane, call: ApiRequest) -> LoadResult:
    if call.verb == "watch":
        return await _watched(daemon.handler.watch(call))
    if call.verb == "list":
        return LoadResult(200, b"".join((await daemon.handler.list_chunks(call)).parts))
    response = await daemon.handler.handle(call)
    return LoadResult(response.code, response.body)


async def _watched(watch: Watch) -> LoadResult:
    """The first events, without waiting for further ones."""
    batch: list[WatchEvent] = []
    async with contextlib.aclosing(watch.events()) as events:
        with contextlib.suppress(TimeoutError, StopAsyncIteration):
            async with asyncio.timeout(0):
                batch = await anext(events)
    return LoadResult(200, batch[0].line() if batch else b"{}")
