"""Attach: clients that read a running container's output and write its input. No client blocks the container."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun
from traincrew.embedded.kubelet.runtime.container.output_pump import OutputPump
from traincrew.embedded.kubelet.runtime.event_loop import READ, WRITE, EventLoop

_MAX_UNREAD_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 16


class OutputTap:
    """Copies a stream's output from now on. A client that falls megabytes behind is disconnected."""

    def __init__(self, loop: EventLoop, pump: OutputPump, fd: int) -> None:
        self._loop, self._pump, self._fd = loop, pump, os.dup(fd)
        self._unsent = bytearray()
        self._over = False
        os.set_blocking(self._fd, False)
        pump.listeners.append(self.take)

    def take(self, data: bytes) -> None:
        if self._fd < 0:
            return
        self._over = not data
        self._unsent += data
        self._step()
        if len(self._unsent) > _MAX_UNREAD_BYTES:
            self.close()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.unwatch(self._fd)
        os.close(self._fd)
        self._fd = -1
        if self.take in self._pump.listeners:
            self._pump.listeners.remove(self.take)

    def _step(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            self._loop.watch(self._fd, WRITE, self._step)
            return
        except OSError:
            self._over = True
        if self._over:
            self.close()
        else:
            self._loop.unwatch(self._fd)


class InputFeed:
    """Copies a client's input to the container, no faster than the container reads."""

    def __init__(self, loop: EventLoop, source: int, target: int, ended: Callable[[], None]) -> None:
        """ended: called when the client has closed its side and all input has been written."""
        self._loop, self._source, self._target, self._ended = loop, os.dup(source), os.dup(target), ended
        self._unsent = b""
        for fd in (self._source, self._target):
            os.set_blocking(fd, False)
        loop.watch(self._source, READ, self._read)

    def close(self) -> None:
        if self._source < 0:
            return
        for fd in (self._source, self._target):
            self._loop.unwatch(fd)
            os.close(fd)
        self._source = self._target = -1

    def _read(self) -> None:
        try:
            self._unsent = os.read(self._source, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self.close()
            self._ended()
            return
        self._loop.unwatch(self._source)
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._target, self._unsent) :]
        except BlockingIOError:
            self._loop.watch(self._target, WRITE, self._write)
            return
        except OSError:
            self.close()
            return
        self._loop.unwatch(self._target)
        self._loop.watch(self._source, READ, self._read)


class Attachment:
    """One client attached to one container. fds: its stdin, stdout and stderr; None for a stream that it did not request."""

    def __init__(self, loop: EventLoop, run: ContainerRun, fds: tuple[int | None, int | None, int | None]) -> None:
        self._run = run
        self._parts: list[OutputTap | InputFeed] = []
        stdin, *outputs = fds
        for fd, pump in zip(outputs, run.pumps, strict=False):
            if fd is not None:
                self._parts.append(OutputTap(loop, pump, fd))
        target = run.handshake.terminal if run.container.tty else run.stdin
        if stdin is not None and target >= 0:
            self._parts.append(InputFeed(loop, stdin, target, self._input_ended))

    def _input_ended(self) -> None:
        if self._run.container.stdin_once and not self._run.container.tty:
            self._run.close_stdin()

    def close(self) -> None:
        for part in self._parts:
            # An output tap closes itself after it has written everything.
            with contextlib.suppress(OSError):
                part.close()
