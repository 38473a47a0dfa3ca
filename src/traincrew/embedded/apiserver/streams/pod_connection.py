"""Connections from the API server to ports of pods, through the kubelet of the pod's node: it is in their network."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import os

import aiohttp
from aiohttp import client_proto, client_reqrep
from aiohttp.tracing import Trace

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import kubelet_connection
from traincrew.embedded.apiserver.streams.tunnel import KubeletEndpoint

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class PodUnreachable(Exception):
    """The kubelet could not connect to the pod. The message is that of Go's dialer."""


@dataclasses.dataclass(frozen=True)
class PodEndpoint:
    """A port of a pod, and the kubelet that connects to it."""

    kubelet: KubeletEndpoint
    address: str
    port: int

    async def connect(self) -> Streams:
        """Raises PodUnreachable, or StatusError if the kubelet cannot be reached."""
        reader, writer = await kubelet_connection.dial(self.kubelet.host, self.kubelet.port, self.kubelet.ssl)
        try:
            writer.write(self._request_head())
            response = await kubelet_connection.read_response(reader)
            if response.status != 101:
                raise self._error(response.status, await kubelet_connection.read_body(reader, response))
        except BaseException:
            writer.close()
            raise
        return reader, writer

    def _request_head(self) -> bytes:
        headers = {"Host": self.kubelet.authority, "Connection": "Upgrade", "Upgrade": "tcp", **self.kubelet.headers}
        lines = [f"GET {self.kubelet.resource} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _error(self, status: int, body: bytes) -> Exception:
        """The body is the number of the error, or the text of an error of TLS."""
        text = body.decode(errors="replace").strip()
        if status == 502 and not (text.isascii() and text.isdecimal()):
            return PodUnreachable(text)
        if status not in (404, 502):
            return StatusError(500, "", f"error dialing backend: the kubelet responded with status code {status}")
        number = int(text) if status == 502 else errno.EHOSTUNREACH  # the pod is gone, and its address with it
        return PodUnreachable(kubelet_connection.dial_error(OSError(number, os.strerror(number)), self.address, self.port))


class PodConnector(aiohttp.BaseConnector):
    """Connections of an HTTP client to one pod. Each serves one request."""

    def __init__(self, endpoint: PodEndpoint) -> None:
        super().__init__(force_close=True)
        self._endpoint = endpoint
        self._writers: list[asyncio.StreamWriter] = []
        """A writer closes its connection when it is deleted."""

    async def _create_connection(
        self,
        req: client_reqrep.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> client_proto.ResponseHandler:
        _, writer = await self._endpoint.connect()
        self._writers.append(writer)
        protocol = self._factory()
        writer.transport.set_protocol(protocol)
        with contextlib.suppress(RuntimeError):  # it is paused only if the pod has sent data before the request
            writer.transport.resume_reading()  # type: ignore[attr-defined]
        protocol.connection_made(writer.transport)
        return protocol
