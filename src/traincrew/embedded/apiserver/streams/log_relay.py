"""A container's log, from its kubelet through the API server to the client."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
from aiohttp import web
from yarl import URL

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.api_errors import StatusDetails, StatusError
from traincrew.embedded.apiserver.streams import kubelet_connection
from traincrew.embedded.apiserver.streams.tunnel import KubeletEndpoint

_MAX_BODY = 50_000
_CHECK_SECONDS = 1.0
"""Seconds between checks that the client of a silent log is still connected: aiohttp reports it only on a write."""
_REASONS = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted, but may still be processing the request"),
}


async def relay(request: web.BaseRequest, target: KubeletEndpoint, pod: str) -> web.StreamResponse:
    """Raises a StatusError as long as no response has been sent."""
    scheme = "https" if target.ssl else "http"
    url = f"{scheme}://{target.authority}{target.resource}"
    connector = aiohttp.TCPConnector(ssl=target.ssl or False, force_close=True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=kubelet_connection.TIMEOUT)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as client:
        try:
            source = await client.get(_url(url), headers=dict(target.headers), allow_redirects=False)
        except (aiohttp.ClientError, OSError) as error:
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            raise StatusError(
                500, "", f'Get "{url}": {kubelet_connection.dial_error(cause, target.host, target.port)}'
            ) from error
        async with source:
            if not 200 <= source.status <= 206:
                raise _status_error(source.status, await source.content.read(_MAX_BODY), pod)
            return await _relay(request, source)


def _url(url: str) -> URL:
    return URL(url, encoded=True)


async def _relay(request: web.BaseRequest, source: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    copying = asyncio.create_task(_copy(source, response))
    try:
        while not copying.done():
            await asyncio.wait({copying}, timeout=_CHECK_SECONDS)
            if request.transport is None or request.transport.is_closing():
                break
    finally:
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
    return response


async def _copy(source: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
    # The response status has been sent: an error of kubelet or client cannot be reported any more.
    with contextlib.suppress(aiohttp.ClientError, ConnectionError):
        async for data in source.content.iter_any():
            await response.write(data)
        await response.write_eof()


def _status_error(code: int, body: bytes, pod: str) -> StatusError:
    text = body.decode("utf-8", "replace")
    if code == 400:
        return api_errors.bad_request(text)
    if code == 500:
        return StatusError(500, "InternalError", f"Internal error occurred: {text}", causes=[{"message": text}])
    subject = StatusDetails("pods/log", name=pod)
    reason, message = _REASONS.get(
        code, ("", f"the server responded with the status code {code} but did not return more information")
    )
    if code == 403:
        reason, message = "Forbidden", text
    elif code > 500 and code not in _REASONS:
        reason, message = "InternalError", f'an error on the server ("{text}") has prevented the request from succeeding'
    return StatusError(code, reason, f"{message} ( pods/log {pod})", subject)
