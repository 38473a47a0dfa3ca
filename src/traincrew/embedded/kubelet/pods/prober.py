"""Runs probes and lifecycle hooks: a command in the container, an HTTP request or a TCP connection to the pod."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

from traincrew.embedded.kubelet.lifecycle.steps import Handler
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.streaming import ByteReader, ExecFailed, ExecOptions, StreamError

OUTPUT_LIMIT = 10 << 10
"""Bytes of the output of a command that are kept."""
RESPONSE_LIMIT = 10 << 10


class ProbeResult(NamedTuple):
    success: bool
    message: str


class _Target(NamedTuple):
    container: str
    ports: Mapping[str, int]
    """The named ports of the container."""


class Prober:
    """Runs the probes and lifecycle hooks of one pod."""

    def __init__(self, pod: ManagedPod, network: PodNetwork) -> None:
        self._pod, self._network = pod, network

    async def run(self, container: str, handler: Handler, timeout: float | None) -> ProbeResult:  # noqa: ASYNC109
        ports = self._pod.container(container).get("ports", ())
        target = _Target(container, {each["name"]: each["containerPort"] for each in ports if each.get("name")})
        try:
            async with asyncio.timeout(timeout):
                return await self._run(target, handler)
        except TimeoutError:
            noun = "command" if "exec" in handler else "request"
            return ProbeResult(False, f"{noun} timed out after {timeout:g}s")
        except (StreamError, runtime.ContainerRuntimeError) as error:
            return ProbeResult(False, str(error))

    async def _run(self, target: _Target, handler: Handler) -> ProbeResult:
        if "exec" in handler:
            return await self._exec(target, handler["exec"])
        if "httpGet" in handler:
            return await self._http_get(target, handler["httpGet"])
        if "tcpSocket" in handler:
            return await self._tcp_socket(target, handler["tcpSocket"])
        if "sleep" in handler:
            await asyncio.sleep(handler["sleep"]["seconds"])
            return ProbeResult(True, "")
        return ProbeResult(False, f"this node has no handler for {', '.join(handler) or 'an empty probe'}")

    async def _exec(self, target: _Target, action: Handler) -> ProbeResult:
        if self._pod.shim is None:
            raise runtime.ShimGone("the pod has no sandbox")
        try:
            command = tuple(action.get("command", ()))
            session = await self._pod.shim.exec(target.container, command, ExecOptions(stdout=True, stderr=True))
        except ExecFailed as error:
            return ProbeResult(False, str(error))
        try:
            output = await asyncio.gather(_read_output(session.stdout), _read_output(session.stderr))
            code = await session.wait()
        finally:
            session.close()
        text = b"".join(output)[:OUTPUT_LIMIT].decode(errors="replace")
        return ProbeResult(code == 0, text if text or code == 0 else f"command terminated with exit code {code}")

    async def _tcp_socket(self, target: _Target, action: Handler) -> ProbeResult:
        host = action.get("host") or self._pod.address
        try:
            _, writer = await self._network.connect(host, _port(target, action["port"]))
        except OSError as error:
            return ProbeResult(False, f"dial tcp {host}:{action['port']}: {_message(error)}")
        writer.close()
        return ProbeResult(True, "")

    async def _http_get(self, target: _Target, action: Handler) -> ProbeResult:
        scheme, host = action.get("scheme", "HTTP").lower(), action.get("host") or self._pod.address
        path = action.get("path") or "/"
        path = path if path.startswith("/") else f"/{path}"
        url = f"{scheme}://{host}:{action['port']}{path}"
        try:
            port = _port(target, action["port"])
            url = f"{scheme}://{host}:{port}{path}"
            reader, writer = await self._network.connect(host, port)
            with contextlib.closing(writer):
                if scheme == "https":
                    await writer.start_tls(_unverified_tls(), server_hostname=host)
                code, body = await _request(reader, writer, path, _headers(action, f"{host}:{port}"))
        except (OSError, ValueError, ssl.SSLError, asyncio.IncompleteReadError) as error:
            reason = str(error)
            if isinstance(error, ConnectionRefusedError):
                reason = f"dial tcp {host}:{action['port']}: {_message(error)}"
            return ProbeResult(False, f'Get "{url}": {reason}')
        if 200 <= code < 400:
            return ProbeResult(True, body)
        return ProbeResult(False, f"HTTP probe failed with statuscode: {code}")


async def _read_output(reader: ByteReader | None) -> bytes:
    kept = b""
    while reader is not None and (piece := await reader.read(OUTPUT_LIMIT)):
        kept = (kept + piece)[:OUTPUT_LIMIT]
    return kept


def _port(target: _Target, port: int | str) -> int:
    if isinstance(port, str) and not port.isdecimal():
        if port not in target.ports:
            raise OSError(f"couldn't find port: {port}")
        return target.ports[port]
    return int(port)


def _message(error: OSError) -> str:
    return f"connect: {error.strerror.lower()}" if error.strerror else str(error)


def _headers(action: Mapping[str, Any], host: str) -> dict[str, str]:
    headers = {"Host": host, "User-Agent": "kube-probe/traincrew", "Accept": "*/*", "Connection": "close"}
    return headers | {each["name"]: each["value"] for each in action.get("httpHeaders", ())}


def _unverified_tls() -> ssl.SSLContext:
    """As in the kubelet, a probe does not verify the certificate of the server."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, headers: dict[str, str]
) -> tuple[int, str]:
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    await writer.drain()
    first = (await reader.readline()).decode("latin-1").split(" ", 2)
    if len(first) < 2 or not first[0].startswith("HTTP/") or not first[1].strip().isdecimal():
        raise ValueError("net/http: HTTP/1.x transport connection broken: malformed HTTP response")
    response = await reader.read(RESPONSE_LIMIT)
    return int(first[1]), response.partition(b"\r\n\r\n")[2].decode(errors="replace")
