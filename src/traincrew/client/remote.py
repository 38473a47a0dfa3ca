"""The client of an API server over HTTP: the verbs, the retries and the limit on requests in flight."""

from __future__ import annotations

import asyncio
import contextlib
import random
import types
import urllib.parse
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import NamedTuple, Self

import aiohttp
import msgspec
import yarl

from traincrew import errors
from traincrew.apimachinery import json_nesting
from traincrew.client import connection, content_types, interfaces, request_urls, retries, status_errors, transport, watch_stream
from traincrew.model.resources import Resource

OnRequest = Callable[[str, str, int, float], None]
"""Called after every request: verb, plural of the resource, status code (0: no response), seconds."""

PATCHES: dict[interfaces.PatchType, str] = {
    "merge": content_types.MERGE_PATCH,
    "json": content_types.JSON_PATCH,
    "strategic": content_types.STRATEGIC_PATCH,
}
SILENCE_MARGIN = 30.0
"""Seconds after its requested end at which a watch without data is cancelled."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


_list_decoder = msgspec.json.Decoder(_List)


class _Call(NamedTuple):
    verb: str
    resource: Resource
    request: transport.HttpRequest


class RemoteClient:
    """A `port.Client`; enter it (async with) before use."""

    def __init__(
        self,
        target: connection.ServerConnection,
        *,
        component: str = "client",
        limits: retries.RetryLimits | None = None,
        on_request: OnRequest | None = None,
    ) -> None:
        self._limits = limits or retries.RetryLimits()
        self._server = target.server
        self._transport = transport.Transport(target, component, self._limits)
        self._slots = asyncio.Semaphore(self._limits.in_flight)
        self._on_request = on_request
        self._rng = random.Random()

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        await self._transport.close()

    @property
    def is_closed(self) -> bool:
        return self._transport.is_closed

    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes:
        url = self._url(resource, namespace, name, subresource)
        return await self._send(_Call("get", resource, transport.HttpRequest("GET", url)))

    async def fetch(self, path: str) -> bytes:
        """The body at a path that is not an object's: discovery, the version."""
        resource = Resource("", "", path.strip("/").partition("/")[0], "", namespaced=False)
        return await self._send(_Call("get", resource, transport.HttpRequest("GET", yarl.URL(self._server + path, encoded=True))))

    async def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[interfaces.Page, None]:
        query = {"limit": str(self._limits.page_size), "labelSelector": labels, "fieldSelector": fields}
        while True:
            url = self._url(resource, namespace, query=request_urls.query(query))
            body = await self._send(_Call("list", resource, transport.HttpRequest("GET", url)))
            page = _decoded_list(body)
            yield interfaces.Page([bytes(item) for item in page.items or ()], page.metadata.resource_version)
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_

    async def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        seconds = self._rng.randint(*self._limits.watch_seconds)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
            "labelSelector": labels,
            "fieldSelector": fields,
        }
        request = transport.HttpRequest("GET", self._url(resource, namespace, query=request_urls.query(query)))
        started, code, lines = asyncio.get_running_loop().time(), 0, watch_stream.Lines()
        try:
            async with self._transport.stream(request, seconds + SILENCE_MARGIN) as response:
                code = response.status
                self._report("watch", resource, code, started)
                if code >= 300:
                    raise status_errors.error(code, await response.read(), response.headers.get("Retry-After"))
                yield watch_stream.bookmark(resource_version)
                async for chunk in response.content.iter_any():
                    for line in lines.feed(chunk):
                        if (change := watch_stream.change(line)) is not None:
                            yield change
        finally:
            if not code:
                self._report("watch", resource, 0, started)

    async def stream(
        self, resource: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        """A body as it arrives, without a time limit: a log. The first chunk is empty: the server has accepted the request."""
        request = transport.HttpRequest("GET", self._url(resource, namespace, name, subresource, request_urls.query(dict(query))))
        async with self._transport.stream(request, None) as response:
            if response.status >= 300:
                raise status_errors.error(response.status, await response.read(), response.headers.get("Retry-After"))
            yield b""
            async for chunk in response.content.iter_any():
                yield chunk

    def websocket(
        self, path: tuple[Resource, str, str, str], query: Sequence[tuple[str, str]], protocols: tuple[str, ...]
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """path: resource, namespace, name and subresource."""
        resource, namespace, name, subresource = path
        url = self._url(resource, namespace, name, subresource, "?" + urllib.parse.urlencode(query))
        return self._transport.websocket(url, protocols)

    async def create(
        self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False, dry_run: bool = False
    ) -> bytes:
        options = {"fieldValidation": "Strict" if strict else "", "dryRun": "All" if dry_run else ""}
        url = self._url(resource, namespace, query=request_urls.query(options) if strict or dry_run else "")
        return await self._send(_Call("create", resource, transport.HttpRequest("POST", url, body)))

    async def post(self, resource: Resource, namespace: str | None, name: str, subresource: str, body: bytes) -> bytes:
        url = self._url(resource, namespace, name, subresource)
        return await self._send(_Call("create", resource, transport.HttpRequest("POST", url, body)))

    async def replace(self, resource: Resource, namespace: str | None, name: str, body: bytes, subresource: str = "") -> bytes:
        url = self._url(resource, namespace, name, subresource)
        return await self._send(_Call("update", resource, transport.HttpRequest("PUT", url, body)))

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: bytes,
        *,
        subresource: str = "",
        type: interfaces.PatchType = "merge",
    ) -> bytes:
        url = self._url(resource, namespace, name, subresource)
        return await self._send(_Call("patch", resource, transport.HttpRequest("PATCH", url, body, PATCHES[type])))

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "",
        grace: int | None = None,
    ) -> bytes:
        url = self._url(resource, namespace, name)
        request = transport.HttpRequest("DELETE", url, interfaces.delete_options(uid, version, propagation, grace))
        return await self._send(_Call("delete", resource, request))

    async def _send(self, call: _Call) -> bytes:
        try:
            return await self._attempt(call)
        except errors.TemporaryError as error:
            return await self._retry(call, error)

    async def _retry(self, call: _Call, error: errors.TemporaryError) -> bytes:
        clock = asyncio.get_running_loop().time
        latest = clock() + self._limits.retry_seconds
        backoff = retries.Backoff(self._limits.first_delay, self._limits.longest_delay, self._rng)
        uncertain = not retries.server_did_not_act(error)
        for _ in range(self._limits.attempts - 1):
            delay = backoff.next(error)
            if clock() + delay > latest or not (retries.server_did_not_act(error) or _is_idempotent(call)):
                break
            await asyncio.sleep(delay)
            try:
                return await self._attempt(call)
            except errors.TemporaryError as again:
                error = again
                uncertain |= not retries.server_did_not_act(error)
            except errors.ApiError as final:
                final.uncertain = uncertain
                raise
        error.uncertain = uncertain
        raise error

    async def _attempt(self, call: _Call) -> bytes:
        async with self._slots:
            started, code = asyncio.get_running_loop().time(), 0
            try:
                code, body, retry_after = await self._transport.exchange(call.request)
            finally:
                self._report(call.verb, call.resource, code, started)
        if code < 300:
            return body
        raise status_errors.error(code, body, retry_after)

    def _report(self, verb: str, resource: Resource, code: int, started: float) -> None:
        if self._on_request is not None:
            seconds = asyncio.get_running_loop().time() - started
            self._on_request(verb, resource.plural, code, seconds)

    def _url(
        self,
        resource: Resource,
        namespace: str | None,
        name: str = "",
        subresource: str = "",
        query: str = "",
    ) -> yarl.URL:
        path = resource.path(request_urls.segment(namespace) if namespace else None, request_urls.segment(name), subresource)
        return yarl.URL(f"{self._server}{path}{query}", encoded=True)


def _is_idempotent(call: _Call) -> bool:
    if call.verb == "create":
        return b'"generateName"' not in (call.request.body or b"")
    return call.request.content_type != content_types.JSON_PATCH


def _decoded_list(body: bytes) -> _List:
    try:
        return json_nesting.decode(_list_decoder.decode, body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.ServerError("the list that the server sent is not valid JSON") from error
