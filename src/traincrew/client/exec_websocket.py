"""Commands in containers, over a WebSocket: channels for input, output, errors, the outcome and the terminal's size."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import aiohttp
import msgspec

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import resources

STDIN, STDOUT, STDERR, OUTCOME, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct):
    status: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None


@dataclasses.dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]
    stdin: bool = False
    tty: bool = False

    def query(self, container: str) -> list[tuple[str, str]]:
        flags = {"stdin": self.stdin, "stdout": True, "stderr": not self.tty, "tty": self.tty}
        chosen = [(name, "true") for name, value in flags.items() if value]
        return [("container", container), *chosen, *(("command", each) for each in self.argv)]


class ExecWebSocket:
    """A command that runs in a container."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.can_end_input = socket.protocol == V5
        """Servers before Kubernetes 1.30 have no message for the end of input."""

    async def write(self, data: bytes) -> None:
        await self._send(STDIN, data)

    async def end_input(self) -> None:
        if self.can_end_input:
            await self._send(CLOSE, bytes((STDIN,)))

    async def resize(self, width: int, height: int) -> None:
        await self._send(RESIZE, msgspec.json.encode({"Width": width, "Height": height}))

    async def _send(self, channel: int, data: bytes) -> None:
        # A command that has ended accepts no input. Its outcome follows.
        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
            await self._socket.send_bytes(bytes((channel,)) + data)

    async def run(self, output: Callable[[int, bytes], Awaitable[None]]) -> int:
        """Calls `output` with channel and bytes until the command has ended. Returns the exit code."""
        async for message in self._socket:
            data = message.data if isinstance(message.data, bytes) else str(message.data).encode()
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT) or not data:
                continue
            if data[0] == OUTCOME:
                return exit_code(data[1:])
            if data[0] in (STDOUT, STDERR) and len(data) > 1:
                await output(data[0], data[1:])
        raise errors.Unreachable("connection lost before the command ended")


def exit_code(raw: bytes) -> int:
    """The exit code in a Status. Raises ServerError if the command could not be run."""
    try:
        status = msgspec.json.decode(raw, type=_Status)
    except msgspec.DecodeError:
        raise errors.ServerError(raw.decode(errors="replace").strip()) from None
    if status.status == "Success":
        return 0
    causes = (status.details.causes if status.details else None) or ()
    for cause in causes:
        if cause.reason == "ExitCode" and cause.message.isdecimal():
            return int(cause.message)
    raise errors.ServerError(status.message or "the command failed, and the server sent no exit code")


@contextlib.asynccontextmanager
async def opened(
    client: RemoteClient, position: pod_logs.ContainerReference, command: Command, protocols: Sequence[str] = (V5, V4)
) -> AsyncIterator[ExecWebSocket]:
    path = (resources.PODS, position.namespace, position.pod, "exec")
    async with client.websocket(path, command.query(position.container), tuple(protocols)) as socket:
        yield ExecWebSocket(socket)
