"""Clients who look at a container while it runs, and may type into it. None of them can hold it up."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, WRITE, EventLoop
from traincrew.embedded.kubelet.runtime.shim.output_pump import OutputPump

_MOST_UNREAD = 8 << 20
_PIECE = 1 << 16


class OutputTap:
    """A stream's output from now on. A client too slow by megabytes is let go rather than waited for."""

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
        if len(self._unsent) > _MOST_UNREAD:
            self.close()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.forget(self._fd)
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
            self._loop.forget(self._fd)


class InputFeed:
    """A client's input to a container, no faster than that reads."""

    def __init__(self, loop: EventLoop, source: int, target: int, ended: Callable[[], None]) -> None:
        """ended: the client has closed its side, and everything of it has been handed on."""
        self._loop, self._source, self._target, self._ended = loop, os.dup(source), os.dup(target), ended
        self._unsent = b""
        for fd in (self._source, self._target):
            os.set_blocking(fd, False)
        loop.watch(self._source, READ, self._read)

    def close(self) -> None:
        if self._source < 0:
            return
        for fd in (self._source, self._target):
            self._loop.forget(fd)
            os.close(fd)
        self._source = self._target = -1

    def _read(self) -> None:
        try:
            self._unsent = os.read(self._source, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self.close()
            self._ended()
            return
        self._loop.forget(self._source)
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
        self._loop.forget(self._target)
        self._loop.watch(self._source, READ, self._read)


class Attachment:
    """One client's look at one container. fds: its stdin, stdout and stderr; None where it wants none."""

    def __init__(self, loop: EventLoop, run: ContainerRun, fds: tuple[int | None, int | None, int | None]) -> None:
        self._run = run
        self._parts: list[OutputTap | InputFeed] = []
        stdin, *outputs = fds
        for fd, pump in zip(outputs, run.pumps, strict=False):
            if fd is not None:
                self._parts.append(OutputTap(loop, pump, fd))
        target = run.beginning.terminal if run.container.tty else run.stdin
        if stdin is not None and target >= 0:
            self._parts.append(InputFeed(loop, stdin, target, self._input_ended))

    def _input_ended(self) -> None:
        if self._run.container.stdin_once and not self._run.container.tty:
            self._run.close_stdin()

    def close(self) -> None:
        for part in self._parts:
            # What has been read from the container is still on its way to the client: a tap closes itself after the end.
            with contextlib.suppress(OSError):
                part.close()
