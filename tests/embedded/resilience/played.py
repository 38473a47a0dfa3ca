"""A cluster within the test's process, and requests put to its handler as the HTTP server would put them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec
from tests.embedded.resilience import documents
from tests.embedded.resilience.asked import Asked

from traincrew import settings
from traincrew.apimachinery import api_errors
from traincrew.app import cluster as app_cluster
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.endpoints import routing
from traincrew.embedded.apiserver.endpoints.watches import Event, Watch
from traincrew.embedded.apiserver.http import server
from traincrew.embedded.apiserver.requests import request_info
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.bootstrap import furnish
from traincrew.embedded.daemon import Daemon, Options


class Answered(NamedTuple):
    code: int
    body: bytes


NAME_OF = {"CustomResourceDefinition": "widgets.example.com", "Namespace": "other"}
NOTHING = Answered(0, b"")
"""Not for the handler: a page, a stream."""


def options(data: pathlib.Path) -> Options:
    furniture = app_cluster.furniture(settings.Cluster())
    return Options(data, "127.0.0.1", 0, furniture, data / "traincrew.log", "0")


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[Daemon]:
    daemon = Daemon(options(data))
    try:
        await furnish(daemon.own_client("bootstrap"), daemon.options.furniture)
        await populate(daemon)
        yield daemon
    finally:
        await daemon.store.close()


async def populate(daemon: Daemon) -> None:
    """One good object of each kind, so that there is something to change."""
    for (api_version, kind), found in documents.good().items():
        served = daemon.registry.by_kind(api_version, kind)
        if served is None or "list" not in served.verbs:  # reviews and bindings are not kept
            continue
        for each in found:
            place = each["metadata"].get("namespace", "default") if served.namespaced else ""
            body = msgspec.json.encode(each | {"metadata": each["metadata"] | {"name": NAME_OF.get(kind, "a")}})
            call = Request(users.administrator(), "create", served, place, body=body)
            try:
                await daemon.handler.handle(call)
            except api_errors.StatusError as refusal:
                if refusal.reason != "AlreadyExists":
                    raise


async def play(daemon: Daemon, asked: Asked) -> Answered:
    """Raises whatever would be an answer of 500 over HTTP."""
    try:
        raw, _, parameters = asked.target.partition("?")
        query, target = Query(request_info.query(parameters)), request_info.parse(request_info.decoded(raw))
        served = daemon.registry.find(target.group, target.version, target.resource) if target else None
        if target is None or served is None or target.subresource in server.STREAMED:
            return NOTHING
        verb = routing.verb(asked.method, target, query)
        sent = [asked.headers.get(name, "") for name in ("Content-Type", "Accept", "User-Agent")]
        where = (target.namespace if served.namespaced else "", target.name, target.subresource)
        return await _answered(daemon, Request(users.administrator(), verb, served, *where, query, asked.body, *sent))
    except api_errors.Bare:
        return NOTHING
    except api_errors.StatusError as refusal:
        return Answered(refusal.code, json.dumps(refusal.status()).encode())


async def _answered(daemon: Daemon, call: Request) -> Answered:
    if call.verb == "watch":
        return await _watched(daemon.handler.watch(call))
    if call.verb == "list":
        return Answered(200, b"".join((await daemon.handler.pieces(call)).parts))
    answer = await daemon.handler.handle(call)
    return Answered(answer.code, answer.body)


async def _watched(watch: Watch) -> Answered:
    """As far as it gets without waiting for anything to happen."""
    batch: list[Event] = []
    async with contextlib.aclosing(watch.events()) as events:
        with contextlib.suppress(TimeoutError, StopAsyncIteration):
            async with asyncio.timeout(0):
                batch = await anext(events)
    return Answered(200, batch[0].line() if batch else b"{}")
