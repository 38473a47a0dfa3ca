"""Proxies a request of a client to a port of a pod, and streams both bodies."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import zlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from yarl import URL

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import html_body, kubelet_connection, proxy_headers, proxy_target, proxy_urls
from traincrew.embedded.apiserver.streams.pod_connection import PodConnector, PodEndpoint, PodUnreachable
from traincrew.serving import connection_copy, upgrades
from traincrew.serving.disconnects import wait_for_disconnect

_PIECE = 32768
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclasses.dataclass(frozen=True)
class ProxiedRequest:
    """A request of a client, and where it goes."""

    http: web.BaseRequest
    path: proxy_urls.ProxyPath
    endpoint: PodEndpoint
    authority: str
    """The address of the pod with its port."""

    @property
    def resource(self) -> str:
        """Path and query. (kube-apiserver drops the query of an upgrade.)"""
        _, mark, query = self.http.raw_path.partition("?")
        return (self.path.path or "/") + mark + query

    @property
    def links(self) -> proxy_urls.LinkRewriter:
        return proxy_urls.LinkRewriter(self.path.prefix, (self.authority, self.http.headers.get("Host", "")))


async def proxy(request: ProxiedRequest) -> web.StreamResponse:
    """Raises a StatusError as long as no response has been sent."""
    if upgrades.is_upgrade(request.http):
        return await _upgrade(request)
    if not request.path.path and request.http.method in ("GET", "HEAD"):
        return _to_root(request)
    work = asyncio.create_task(_exchange(request))
    leaving = asyncio.create_task(wait_for_disconnect(request.http.transport))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ConnectionResetError("the client has disconnected")
        return work.result()
    finally:
        for task in (work, leaving):
            task.cancel()
        await asyncio.gather(work, leaving, return_exceptions=True)


def _to_root(request: ProxiedRequest) -> web.Response:
    """Relative links of a page need the slash at the end of its URL."""
    _, mark, query = request.http.raw_path.partition("?")
    headers = {"Location": f"{request.path.prefix}/{mark}{query}", "Cache-Control": proxy_headers.UNCACHED}
    return web.Response(status=301, headers=headers)


async def _exchange(request: ProxiedRequest) -> web.StreamResponse:
    http = request.http
    headers = proxy_headers.to_pod(http.headers, http.remote or "", request.path.forwarded_uri)
    url = URL(f"http://{request.authority}{request.resource}", encoded=True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
    async with aiohttp.ClientSession(
        connector=PodConnector(request.endpoint), timeout=timeout, auto_decompress=False, skip_auto_headers=_AUTOMATIC
    ) as client:
        try:
            response = await client.request(http.method, url, headers=headers, data=_body(http), allow_redirects=False)
        except (aiohttp.ClientError, PodUnreachable) as error:
            raise proxy_target.unreachable(_reason(error)) from error
        async with response:
            return await _respond(request, response)


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) if isinstance(error, PodUnreachable) else f"net/http: HTTP/1.x transport connection broken: {error}"


def _body(http: web.BaseRequest) -> AsyncIterator[bytes] | None:
    return _streamed_body(http) if http.can_read_body else None


async def _streamed_body(http: web.BaseRequest) -> AsyncIterator[bytes]:
    if http.headers.get("Expect", "").lower() == "100-continue" and http.transport is not None:
        http.transport.write(_CONTINUE)
    async for piece in http.content.iter_any():
        yield piece


async def _respond(request: ProxiedRequest, source: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = proxy_headers.to_client(source.headers)
    body: AsyncIterator[bytes] = source.content.iter_chunked(_PIECE)
    encoding = source.headers.get("Content-Encoding", "")
    if "Location" in headers:
        headers["Location"] = _rewritten_location(request, headers["Location"])
    elif proxy_headers.is_html(source.headers) and encoding in html_body.ENCODINGS and request.http.method != "HEAD":
        headers.popall("Content-Length", None)
        body = html_body.rewritten(body, encoding, request.links.rewrite)
    response = web.StreamResponse(status=source.status, reason=source.reason, headers=headers)
    if "Content-Length" not in headers and source.status not in (204, 304) and request.http.method != "HEAD":
        if request.http.version >= (1, 1):
            response.enable_chunked_encoding()
        else:
            response.force_close()
    await response.prepare(request.http)
    await _copy(request.http, response, body)
    return response


async def _copy(http: web.BaseRequest, response: web.StreamResponse, body: AsyncIterator[bytes]) -> None:
    try:
        async for piece in body:
            await response.write(piece)
        await response.write_eof()
    except (aiohttp.ClientError, OSError, zlib.error) as error:
        # The status has been sent: a broken connection is the only sign that the body is not complete.
        if http.transport is not None:
            http.transport.abort()
        raise ConnectionResetError("the pod or the client has disconnected") from error


def _rewritten_location(request: ProxiedRequest, location: str) -> str:
    try:
        return request.links.rewrite(location)
    except ValueError as error:
        problem = f"parse {go_format.quote(location)}: missing ']' in host"  # the only error of Python's parser
        raise api_errors.internal_error(f"error trying to parse Location header: {problem}") from error


async def _upgrade(request: ProxiedRequest) -> web.StreamResponse:
    try:
        reader, writer = await request.endpoint.connect()
    except PodUnreachable as error:
        raise StatusError(500, "", f"error dialing backend: {error}") from error
    try:
        writer.write(_upgrade_head(request))
        response = await kubelet_connection.read_response(reader)
        if response.status != 101 and response.status < 400:
            raise StatusError(500, "", f"invalid upgrade response: status code {response.status}")
        # A response that rejects the upgrade is copied, too, until the pod closes the connection.
        with contextlib.suppress(ConnectionError):
            async with upgrades.hijack(request.http, response.head) as client:
                await connection_copy.copy_both_directions(client, (reader, writer))
        return upgrades.HijackedResponse()
    finally:
        writer.close()


def _upgrade_head(request: ProxiedRequest) -> bytes:
    headers = proxy_headers.to_pod_for_upgrade(request.http.headers, request.http.remote or "")
    lines = [f"{request.http.method} {request.resource} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")
