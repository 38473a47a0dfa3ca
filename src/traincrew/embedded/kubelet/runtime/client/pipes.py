"""asyncio reader and writer for any descriptor that can be polled: pipes and terminals, on any event loop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os

_CHUNK_BYTES = 1 << 16
_HIGH, _LOW = 1 << 20, 1 << 18


class PipeReader:
    """Reads on demand only, so that back-pressure reaches the writer."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()

    async def read(self, n: int = -1, /) -> bytes:
        size = n if n > 0 else _CHUNK_BYTES
        while self._fd >= 0:
            try:
                data = os.read(self._fd, size)
            except (BlockingIOError, InterruptedError):
                await self._readable()
                continue
            except OSError as error:
                if error.errno != errno.EIO:  # a terminal whose other end is closed
                    raise
                data = b""
            if not data:
                self.close()
            return data
        return b""

    async def _readable(self) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        self._waiting = ready
        self._loop.add_reader(self._fd, _wake, ready)
        try:
            await ready
        finally:
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        if (waiting := getattr(self, "_waiting", None)) is not None:
            _wake(waiting)


class PipeWriter:
    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._closing = False
        self._room = asyncio.Event()
        self._room.set()

    @property
    def gone(self) -> bool:
        """Closed, with all data written."""
        return self._fd < 0

    def write(self, data: bytes, /) -> None:
        """BrokenPipeError: the reader has closed the pipe."""
        if self._fd < 0 or self._closing:
            raise BrokenPipeError(errno.EPIPE, "the command has closed its standard input")
        self._unsent += data
        self._flush()
        if len(self._unsent) > _HIGH:
            self._room.clear()

    async def drain(self) -> None:
        await self._room.wait()

    def close(self) -> None:
        """Writes the remaining data first."""
        self._closing = True
        if not self._unsent:
            self.abort()

    def abort(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_writer(self._fd)
        os.close(self._fd)
        self._fd = -1
        self._unsent.clear()
        self._room.set()

    def _flush(self) -> None:
        try:
            while self._unsent:
                with memoryview(self._unsent) as view:
                    sent = os.write(self._fd, view[:_HIGH])
                del self._unsent[:sent]
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._fd, self._flush)
        except OSError:
            self.abort()
            return
        if len(self._unsent) < _LOW:
            self._room.set()
        if not self._unsent:
            with contextlib.suppress(ValueError):
                self._loop.remove_writer(self._fd)
            if self._closing:
                self.abort()


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
