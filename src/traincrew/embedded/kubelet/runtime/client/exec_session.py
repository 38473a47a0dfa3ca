"""An exec or attach session, as the kubelet's streaming server uses it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.client.pipes import PipeReader, PipeWriter
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions

_PIPE_BYTES = 1 << 20


class ExecPipes:
    """Pipes of the requested streams. `theirs` are the ends for the shim, in the order of `names`."""

    def __init__(self, io: ExecOptions) -> None:
        self.names = [name for name in ("stdin", "stdout", "stderr") if getattr(io, name)]
        if io.tty and "stderr" in self.names:
            self.names.remove("stderr")
        self.theirs: list[int] = []
        self._ours: dict[str, int] = {}
        for name in self.names:
            reading, writing = os.pipe2(os.O_CLOEXEC)
            with contextlib.suppress(OSError):
                fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            mine, yours = (writing, reading) if name == "stdin" else (reading, writing)
            self._ours[name] = mine
            self.theirs.append(yours)

    def take(self, name: str) -> int | None:
        return self._ours.pop(name, None)

    def close(self) -> None:
        for fd in self._ours.values():
            os.close(fd)
        self._ours = {}


class ExecSession:
    """Implements `streaming.StreamSession`."""

    def __init__(self, code: asyncio.Future[int], kill: Callable[[], None], terminal: int | None = None) -> None:
        self._code, self._kill = code, kill
        self._terminal = terminal
        self.stdin: PipeWriter | None = None
        self.stdout: PipeReader | None = None
        self.stderr: PipeReader | None = None
        self._closed = False

    def over_pipes(self, pipes: ExecPipes) -> ExecSession:
        if (fd := pipes.take("stdin")) is not None:
            self.stdin = PipeWriter(fd)
        if (fd := pipes.take("stdout")) is not None:
            self.stdout = PipeReader(fd)
        if (fd := pipes.take("stderr")) is not None:
            self.stderr = PipeReader(fd)
        return self

    def over_terminal(self, io: ExecOptions) -> ExecSession:
        if self._terminal is not None:
            # Two descriptors, because an event loop watches each number once.
            self.stdin = PipeWriter(os.dup(self._terminal)) if io.stdin else None
            self.stdout = PipeReader(os.dup(self._terminal)) if io.stdout else None
        return self

    def resize(self, width: int, height: int) -> None:
        if self._terminal is not None:
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self._code.done():
            self._kill()
        if self.stdin is not None:
            self.stdin.abort()
        for end in (self.stdout, self.stderr):
            if end is not None:
                end.close()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None
