"""HTTP probes and HTTP lifecycle hooks: GET requests to a pod. Redirects to the same host are followed, as in the kubelet."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from traincrew.embedded.kubelet.pods import http_probe_requests, http_responses, probe_messages
from traincrew.embedded.kubelet.pods.http_probe_requests import ProbeRequest
from traincrew.embedded.kubelet.pods.http_responses import ProbeResponseHead
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import ProbeResult

MAX_REQUESTS = 10
"""Of one probe that is redirected."""


def _unverified_tls() -> ssl.SSLContext:
    """As in the kubelet, a probe does not verify the certificate of the server: no certificate of an authority is loaded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


TLS = _unverified_tls()


class _RequestFailed(Exception):
    """There is no response. The message is that of Go's client."""

    def __init__(self, request: ProbeRequest, reason: str) -> None:
        super().__init__(probe_messages.get_error(request.url, reason))
        self.is_plain = reason == probe_messages.PLAIN_HTTP


class HttpGetAction(NamedTuple):
    network: PodNetwork
    host: str
    port: int
    action: Mapping[str, Any]

    def request(self, user_agent: str = "kube-probe/traincrew") -> ProbeRequest:
        """Raises ValueError."""
        return http_probe_requests.request(self.action, self.host, self.port, user_agent)

    async def run(self) -> ProbeResult:
        """Raises ValueError if the request cannot be made."""
        request = self.request()
        try:
            code, body = await _get(self.network, request)
        except _RequestFailed as error:
            return ProbeResult(False, str(error))
        except (OSError, ValueError, EOFError) as error:  # of the body
            return ProbeResult(None, "unexpected EOF" if isinstance(error, EOFError) else str(error))
        if 300 <= code < 400:
            return ProbeResult(True, "", f"Probe terminated redirects, Response body: {body}")
        if 200 <= code < 300:
            return ProbeResult(True, body)
        return ProbeResult(False, f"HTTP probe failed with statuscode: {code}")

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.get_timeout(self.request().url)


class HttpGetHook(NamedTuple):
    """A lifecycle hook succeeds with any response. If a server does not speak TLS, it is asked again without."""

    get: HttpGetAction

    async def run(self) -> ProbeResult:
        """Raises ValueError if the request cannot be made."""
        request = self.get.request("kube-lifecycle/traincrew")
        failure = await self._failure(request)
        if failure is not None and failure.is_plain:
            failure = await self._failure(http_probe_requests.without_tls(request)) and failure
        return ProbeResult(failure is None, str(failure or ""))

    async def _failure(self, request: ProbeRequest) -> _RequestFailed | None:
        try:
            await _get(self.get.network, request)
        except _RequestFailed as error:
            return error
        except (OSError, ValueError, EOFError):  # of the body, which nobody reads
            return None
        return None

    def timeout_message(self, seconds: float) -> str:
        return self.get.timeout_message(seconds)


async def _get(network: PodNetwork, request: ProbeRequest) -> tuple[int, str]:
    """Status code and body. Raises _RequestFailed; and OSError, ValueError and EOFError of the body."""
    host = request.hostname
    for _ in range(MAX_REQUESTS):
        async with _sent(network, request) as (reader, head):
            redirected = http_probe_requests.redirected(request, head.code, head.headers.get("location", ""))
            if redirected is None or redirected.hostname != host:
                return head.code, await http_responses.read_body(reader, head)
        last, request = request, redirected
    raise _RequestFailed(last, f"stopped after {MAX_REQUESTS} redirects")


@contextlib.asynccontextmanager
async def _sent(network: PodNetwork, request: ProbeRequest) -> AsyncIterator[tuple[asyncio.StreamReader, ProbeResponseHead]]:
    """Raises _RequestFailed."""
    if request.scheme not in ("http", "https"):
        raise _RequestFailed(request, f'unsupported protocol scheme "{request.scheme}"')
    try:
        reader, writer = await network.connect(request.hostname, request.port)
    except OSError as error:
        raise _RequestFailed(request, probe_messages.dial_error(request.hostname, request.port, error)) from error
    except ValueError as error:
        raise _RequestFailed(request, str(error)) from error
    with contextlib.closing(writer):
        local, remote = (writer.get_extra_info(name)[:2] for name in ("sockname", "peername"))
        try:
            if request.scheme == "https":
                await writer.start_tls(TLS, server_hostname=request.hostname)
            writer.write(request.encode())
            await writer.drain()
            head = await http_responses.read_head(reader)
        except (OSError, ValueError) as error:
            raise _RequestFailed(request, probe_messages.read_error(local, remote, error)) from error
        yield reader, head
