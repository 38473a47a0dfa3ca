"""Exec and attach sessions, independent of the protocol: copying between a client and a container."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from traincrew.embedded.kubelet.runtime.streaming import ByteReader, StreamSession, StreamUnavailable
from traincrew.embedded.kubelet.server import exec_status

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
_PIECE = 64 * 1024
log = logging.getLogger(__name__)


class StreamClient(Protocol):
    """The client of an exec session, independent of the protocol."""

    async def listen(self, sink: SessionInput) -> None:
        """Passes on the client's messages. Returns when the client has disconnected."""
        ...

    async def send(self, channel: int, data: bytes) -> None: ...

    async def finish(self, status: exec_status.Status) -> None:
        """Sends the final status and closes all channels."""
        ...


class SessionInput:
    """Input and resize messages for a session. Input that the command no longer reads is dropped."""

    def __init__(self, session: StreamSession) -> None:
        self._session = session
        self._stdin = session.stdin

    async def write(self, data: bytes) -> None:
        if self._stdin is None:
            return
        try:
            self._stdin.write(data)
            await self._stdin.drain()
        except (OSError, RuntimeError):
            self.close_stdin()

    def close_stdin(self) -> None:
        if self._stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._stdin.close()
            self._stdin = None

    def resize(self, width: int, height: int) -> None:
        with contextlib.suppress(OSError):
            self._session.resize(width, height)


@dataclasses.dataclass(frozen=True)
class SessionRequest:
    """Starts a session and converts its exit code to a Status."""

    start: Callable[[], Awaitable[StreamSession]]
    status: Callable[[int], exec_status.Status]
    error_prefix: str
    """Of the Status message, such as `error executing command in container`."""


async def run_session(client: StreamClient, request: SessionRequest) -> None:
    try:
        session = await request.start()
    except (StreamUnavailable, OSError) as error:
        await client.finish(exec_status.from_error(f"{request.error_prefix}: {error}"))
        return
    listening = asyncio.create_task(client.listen(SessionInput(session)))
    copying = asyncio.create_task(_copy_output(client, session))
    try:
        await asyncio.wait({listening, copying}, return_when=asyncio.FIRST_COMPLETED)
        if copying.done():
            with contextlib.suppress(ConnectionError):
                await client.finish(_final_status(copying, request))
    finally:
        session.close()
        listening.cancel()
        copying.cancel()
        await asyncio.gather(listening, copying, return_exceptions=True)


def _final_status(copying: asyncio.Task[int], request: SessionRequest) -> exec_status.Status:
    if (error := copying.exception()) is None:
        return request.status(copying.result())
    log.error("exec session failed", extra={"error": str(error)}, exc_info=error)
    return exec_status.from_error(f"{request.error_prefix}: {error}")


async def _copy_output(client: StreamClient, session: StreamSession) -> int:
    async with asyncio.TaskGroup() as group:
        for channel, reader in ((STDOUT, session.stdout), (STDERR, session.stderr)):
            if reader is not None:
                group.create_task(_copy(reader, client, channel))
        code = await session.wait()
    # All output has been copied here: the exit code is sent last.
    return code  # noqa: RET504


async def _copy(reader: ByteReader, client: StreamClient, channel: int) -> None:
    writable = True
    while data := await reader.read(_PIECE):
        # A client may close its output stream and still expect the command to continue.
        if writable:
            try:
                await client.send(channel, data)
            except ConnectionError:
                writable = False
