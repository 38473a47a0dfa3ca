"""The actions of probes and lifecycle hooks. Their messages are those of the kubelet."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from traincrew.embedded.kubelet.pods import probe_messages
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.streaming import ByteReader, ExecOptions

OUTPUT_LIMIT = 10 << 10
"""Bytes of the output of a command that are kept."""
RESPONSE_LIMIT = 10 << 10


class ProbeResult(NamedTuple):
    success: bool | None
    """None: the probe could not be executed. It does not count as a failure."""
    message: str


class ProbeAction(Protocol):
    async def run(self) -> ProbeResult: ...

    def timeout_message(self, seconds: float) -> str: ...


class ExecAction(NamedTuple):
    shim: runtime.ShimClient
    container: str
    command: tuple[str, ...]

    async def run(self) -> ProbeResult:
        """Raises StreamError if the command cannot be started."""
        session = await self.shim.exec(self.container, self.command, ExecOptions(stdout=True, stderr=True))
        try:
            output = await asyncio.gather(_read_output(session.stdout), _read_output(session.stderr))
            code = await session.wait()
        finally:
            session.close()
        return ProbeResult(code == 0, b"".join(output)[:OUTPUT_LIMIT].decode(errors="replace"))

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.exec_timeout(self.command, seconds)


class SleepAction(NamedTuple):
    seconds: float

    async def run(self) -> ProbeResult:
        await asyncio.sleep(self.seconds)
        return ProbeResult(True, "")

    def timeout_message(self, seconds: float) -> str:
        return f"sleep timed out after {seconds:g}s"


class TcpAction(NamedTuple):
    network: PodNetwork
    host: str
    port: int

    async def run(self) -> ProbeResult:
        try:
            _, writer = await self.network.connect(self.host, self.port)
        except OSError as error:
            return ProbeResult(False, probe_messages.dial_error(self.host, self.port, error))
        writer.close()
        return ProbeResult(True, "")

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.dial_error(self.host, self.port, TimeoutError())


class HttpGetAction(NamedTuple):
    network: PodNetwork
    host: str
    port: int
    action: Mapping[str, Any]

    @property
    def scheme(self) -> str:
        return str(self.action.get("scheme", "HTTP")).lower()

    @property
    def path(self) -> str:
        path = self.action.get("path") or "/"
        return path if path.startswith("/") else f"/{path}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{probe_messages.authority(self.host, self.port)}{self.path}"

    async def run(self) -> ProbeResult:
        try:
            connection = await self.network.connect(self.host, self.port)
        except OSError as error:
            reason = probe_messages.dial_error(self.host, self.port, error)
            return ProbeResult(False, probe_messages.get_error(self.url, reason))
        with contextlib.closing(connection[1]):
            local, remote = (connection[1].get_extra_info(name)[:2] for name in ("sockname", "peername"))
            try:
                code, body = await self._request(*connection)
            except (OSError, ValueError) as error:
                return ProbeResult(False, probe_messages.get_error(self.url, probe_messages.read_error(local, remote, error)))
        if 200 <= code < 400:
            return ProbeResult(True, body)
        return ProbeResult(False, f"HTTP probe failed with statuscode: {code}")

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, str]:
        if self.scheme == "https":
            await writer.start_tls(_unverified_tls(), server_hostname=self.host)
        headers = _headers(self.action, f"{self.host}:{self.port}")
        lines = [f"GET {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()
        code = probe_messages.status_code((await reader.readline()).decode("latin-1"))
        response = await reader.read(RESPONSE_LIMIT)
        return code, response.partition(b"\r\n\r\n")[2].decode(errors="replace")

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.get_timeout(self.url)


async def _read_output(reader: ByteReader | None) -> bytes:
    kept = b""
    while reader is not None and (piece := await reader.read(OUTPUT_LIMIT)):
        kept = (kept + piece)[:OUTPUT_LIMIT]
    return kept


def _headers(action: Mapping[str, Any], host: str) -> dict[str, str]:
    headers = {"Host": host, "User-Agent": "kube-probe/traincrew", "Accept": "*/*", "Connection": "close"}
    return headers | {each["name"]: each["value"] for each in action.get("httpHeaders", ())}


def _unverified_tls() -> ssl.SSLContext:
    """As in the kubelet, a probe does not verify the certificate of the server."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
