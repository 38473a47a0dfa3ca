"""What a probe or a hook does: a command in the container, a request to a port of the pod, a connection."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from traincrew.embedded.kubelet.runtime.streaming import ByteReader, ExecFailed, ExecOptions, StreamSession

OUTPUT_LIMIT = 10 << 10
"""Bytes of what a command says that are kept."""
ANSWER_LIMIT = 10 << 10
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Outcome(NamedTuple):
    good: bool
    message: str


class Pod(Protocol):
    """What can be done to the pod in question."""

    async def exec(self, container: str, command: tuple[str, ...], io: ExecOptions) -> StreamSession: ...
    async def connect(self, host: str, port: int) -> Connection: ...
    @property
    def address(self) -> str: ...


class Target(NamedTuple):
    container: str
    ports: Mapping[str, int]
    """The container's ports that have names."""


async def run(pod: Pod, target: Target, handler: Mapping[str, Any], seconds: float | None) -> Outcome:
    try:
        async with asyncio.timeout(seconds):
            return await _kind(handler)(pod, target, handler)
    except TimeoutError:
        return Outcome(False, f"{_noun(handler)} timed out after {seconds:g}s")


def _noun(handler: Mapping[str, Any]) -> str:
    return "command" if "exec" in handler else "request"


def _kind(handler: Mapping[str, Any]) -> Callable[[Pod, Target, Mapping[str, Any]], Awaitable[Outcome]]:
    kinds = {"exec": _exec, "httpGet": _http, "tcpSocket": _tcp, "sleep": _sleep}
    for name, function in kinds.items():
        if name in handler:
            return function
    return _unknown


async def _unknown(pod: Pod, target: Target, handler: Mapping[str, Any]) -> Outcome:
    return Outcome(False, f"this node has no handler for {', '.join(handler) or 'an empty probe'}")


async def _sleep(pod: Pod, target: Target, handler: Mapping[str, Any]) -> Outcome:
    await asyncio.sleep(handler["sleep"]["seconds"])
    return Outcome(True, "")


async def _exec(pod: Pod, target: Target, handler: Mapping[str, Any]) -> Outcome:
    command = tuple(handler["exec"].get("command", ()))
    try:
        session = await pod.exec(target.container, command, ExecOptions(stdout=True, stderr=True))
    except ExecFailed as error:
        return Outcome(False, str(error))
    try:
        said = await asyncio.gather(_said(session.stdout), _said(session.stderr))
        code = await session.wait()
    finally:
        session.close()
    text = b"".join(said)[:OUTPUT_LIMIT].decode(errors="replace")
    return Outcome(code == 0, text if text or code == 0 else f"command terminated with exit code {code}")


async def _said(reader: ByteReader | None) -> bytes:
    kept = b""
    while reader is not None and (piece := await reader.read(OUTPUT_LIMIT)):
        kept = (kept + piece)[:OUTPUT_LIMIT]
    return kept


def _port(target: Target, port: int | str) -> int:
    if isinstance(port, str) and not port.isdecimal():
        if port not in target.ports:
            raise OSError(f"couldn't find port: {port}")
        return target.ports[port]
    return int(port)


async def _tcp(pod: Pod, target: Target, handler: Mapping[str, Any]) -> Outcome:
    asked = handler["tcpSocket"]
    host = asked.get("host") or pod.address
    try:
        port = _port(target, asked["port"])
        _, writer = await pod.connect(host, port)
    except OSError as error:
        return Outcome(False, f"dial tcp {host}:{asked['port']}: {_words(error)}")
    writer.close()
    return Outcome(True, "")


def _words(error: OSError) -> str:
    return f"connect: {error.strerror.lower()}" if error.strerror else str(error)


async def _http(pod: Pod, target: Target, handler: Mapping[str, Any]) -> Outcome:
    asked = handler["httpGet"]
    scheme, host, path = asked.get("scheme", "HTTP").lower(), asked.get("host") or pod.address, asked.get("path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    url = f"{scheme}://{host}:{asked['port']}{path}"
    try:
        port = _port(target, asked["port"])
        url = f"{scheme}://{host}:{port}{path}"
        reader, writer = await pod.connect(host, port)
        with contextlib.closing(writer):
            if scheme == "https":
                await writer.start_tls(_trusting(), server_hostname=host)
            code, body = await _request(reader, writer, path, _headers(asked, f"{host}:{port}"))
    except (OSError, ValueError, ssl.SSLError, asyncio.IncompleteReadError) as error:
        why = f"dial tcp {host}:{asked['port']}: {_words(error)}" if isinstance(error, ConnectionRefusedError) else str(error)
        return Outcome(False, f'Get "{url}": {why}')
    if 200 <= code < 400:
        return Outcome(True, body)
    return Outcome(False, f"HTTP probe failed with statuscode: {code}")


def _headers(asked: Mapping[str, Any], host: str) -> dict[str, str]:
    told = {"Host": host, "User-Agent": "kube-probe/traincrew", "Accept": "*/*", "Connection": "close"}
    return told | {each["name"]: each["value"] for each in asked.get("httpHeaders", ())}


def _trusting() -> ssl.SSLContext:
    """As for the kubelet, a probe asks whether the server answers, not who it is."""
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
    answer = await reader.read(ANSWER_LIMIT)
    return int(first[1]), answer.partition(b"\r\n\r\n")[2].decode(errors="replace")
