"""A container runtime for tests: real processes, each in a directory, without isolation."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import os
import pathlib
import pty
import signal
import struct
import termios
from collections.abc import AsyncIterator
from typing import Any

from traincrew.embedded.kubelet.runtime.streaming import (
    ByteReader,
    ByteWriter,
    ContainerNotFound,
    ContainerNotStarted,
    ExecFailed,
    ExecOptions,
    LogOptions,
    PodNotFound,
)

Stamped = tuple[datetime.datetime, bytes]


class Terminal:
    """The master side of a terminal."""

    def __init__(self, master: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.master, self._reader, self._writer = master, reader, writer

    async def read(self, n: int = -1, /) -> bytes:
        try:
            return await self._reader.read(n)
        except OSError:  # Linux reports EIO when the last process has closed the terminal
            return b""

    def write(self, data: bytes, /) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.write(b"\x04")

    def hang_up(self) -> None:
        self._writer.close()


class ProcessSession:
    """A running command. Implements `streaming.StreamSession`."""

    def __init__(self, process: asyncio.subprocess.Process, io: ExecOptions, terminal: Terminal | None = None) -> None:
        self.process, self.terminal = process, terminal
        self.stdin: ByteWriter | None = (terminal or process.stdin) if io.stdin else None
        self.stdout: ByteReader | None = (terminal or process.stdout) if io.stdout else None
        self.stderr: ByteReader | None = process.stderr if io.stderr else None

    @property
    def unwritten(self) -> int:
        """Bytes in the write buffer that the command has not read."""
        return self.process.stdin.transport.get_write_buffer_size() if self.process.stdin else 0

    def resize(self, width: int, height: int) -> None:
        if self.terminal:
            fcntl.ioctl(self.terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def wait(self) -> int:
        code = await self.process.wait()
        if self.terminal:
            self.terminal.hang_up()
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class AttachedSession(ProcessSession):
    """Attached to the main process of a container. Closing the session does not end the process."""

    def __init__(self, container: Container, main: ProcessSession, io: ExecOptions) -> None:
        super().__init__(main.process, io, main.terminal)
        self._container: Container | None = container
        container.attached += 1

    def close(self) -> None:
        if self._container:
            self._container.attached -= 1
        self._container = None


class Container:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.lines: list[Stamped] = []
        self.previous: list[Stamped] | None = None
        self.waiting = ""
        self.ended = False
        self.main: ProcessSession | None = None
        self.sessions: list[ProcessSession] = []
        self._changed = asyncio.Condition()
        self.followers = 0
        self.attached = 0

    async def write_log(self, *texts: str, at: datetime.datetime | None = None) -> None:
        moment = at or datetime.datetime.now(datetime.UTC)
        self.lines += [(moment, text.encode() + b"\n") for text in texts]
        await self._notify()

    async def end(self) -> None:
        self.ended = True
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def follow(self, at: int) -> AsyncIterator[Stamped]:
        self.followers += 1
        try:
            while at < len(self.lines) or not self.ended:
                async with self._changed:
                    while at == len(self.lines) and not self.ended:
                        await self._changed.wait()
                for stamped in self.lines[at:]:
                    at += 1
                    yield stamped
        finally:
            self.followers -= 1


class ProcessRuntime:
    """Implements `streaming.StreamingRuntime`."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self.containers: dict[tuple[str, str, str], Container] = {}
        self.ports: dict[tuple[str, int], int] = {}
        """Ports of this machine by pod and port. Connections to other ports fail."""
        self.uids: dict[str, str] = {}
        """UIDs by pod, if they are not `uid-POD`."""
        self.connectable = asyncio.Event()
        """While it is not set, no connection is made."""
        self.connectable.set()

    def add(self, namespace: str, pod: str, container: str) -> Container:
        directory = self._directory / namespace / pod / container
        directory.mkdir(parents=True)
        self.containers[namespace, pod, container] = added = Container(directory)
        return added

    def pods(self) -> list[dict[str, Any]]:
        names = dict.fromkeys((namespace, pod) for namespace, pod, _ in self.containers)
        return [{"metadata": {"namespace": namespace, "name": pod}} for namespace, pod in names]

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        if not any(key[:2] == (namespace, pod) for key in self.containers) or uid not in ("", self.uids.get(pod, f"uid-{pod}")):
            raise PodNotFound()
        if container and (namespace, pod, container) not in self.containers:
            raise ContainerNotFound()

    async def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        await self.find(namespace, pod, container, "")
        target = self.containers[namespace, pod, container]
        if target.waiting:
            raise ContainerNotStarted(f'container "{container}" in pod "{pod}" is waiting to start: {target.waiting}')
        if options.previous and target.previous is None:
            raise ContainerNotStarted(f'previous terminated container "{container}" in pod "{pod}" not found')
        yield b""
        lines = target.previous if options.previous and target.previous is not None else target.lines
        count, start = len(lines), 0
        if options.tail_lines is not None:
            start = max(count - options.tail_lines, 0)
        since = options.since(datetime.datetime.now(datetime.UTC))
        for stamped in lines[start:count]:
            if since is None or stamped[0] >= since:
                yield _format(stamped, options)
        if options.follow and not options.previous:
            async for stamped in target.follow(count):
                yield _format(stamped, options)

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> ProcessSession:
        target = self.containers[namespace, pod, container]
        try:
            running = await start(command, io, target.directory)
        except (FileNotFoundError, IndexError) as error:
            raise ExecFailed(f'exec: "{command[0] if command else ""}": executable file not found in $PATH') from error
        target.sessions.append(running)
        return running

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> ProcessSession:
        target = self.containers[namespace, pod, container]
        if target.main is None:
            raise ExecFailed("container is not running")
        return AttachedSession(target, target.main, io)

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await self.connectable.wait()
        return await asyncio.open_connection("127.0.0.1", self.ports.get((pod, port), 1))

    async def dial(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self.connect(namespace, pod, port)


def _format(stamped: Stamped, options: LogOptions) -> bytes:
    moment, line = stamped
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode() + line if options.timestamps else line


async def start(command: list[str], io: ExecOptions, directory: pathlib.Path) -> ProcessSession:
    if io.tty:
        return await _start_in_terminal(command, io, directory)
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=directory,
        start_new_session=True,
        stdin=pipe if io.stdin else nothing,
        stdout=pipe if io.stdout else nothing,
        stderr=pipe if io.stderr else nothing,
    )
    return ProcessSession(process, io)


async def _start_in_terminal(command: list[str], io: ExecOptions, directory: pathlib.Path) -> ProcessSession:
    master, slave = pty.openpty()
    script = ["sh", "-c", 'exec setsid -c "$@" <&0', "sh", *command]
    process = await asyncio.create_subprocess_exec(*script, cwd=directory, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(os.dup(master), "rb", 0))
    transport, other = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(os.dup(master), "wb", 0))
    writer = asyncio.StreamWriter(transport, other, None, loop)
    return ProcessSession(process, io, Terminal(master, reader, writer))
