"""The log of this process, served by the kubelet server as the log of the operator's mirror pod."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from traincrew.apimachinery import times
from traincrew.client import clock
from traincrew.embedded.kubelet.runtime.streaming import (
    ContainerNotStarted,
    ExecFailed,
    ExecOptions,
    LogOptions,
    PodNotFound,
    StreamingRuntime,
    StreamSession,
)

POLL = 0.2
"""Seconds between two reads of a followed log."""
READ_SIZE = 1 << 16


class _Combined:
    """The containers of the mirror pod and those of the node."""

    def __init__(self, mirror: MirrorPodLog, others: StreamingRuntime) -> None:
        self._mirror, self._others = mirror, others

    def _of(self, namespace: str, pod: str) -> StreamingRuntime:
        return self._mirror if self._mirror.has(namespace, pod) else self._others

    def pods(self) -> list[dict[str, Any]]:
        return self._others.pods()

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        await self._of(namespace, pod).find(namespace, pod, container, uid)

    def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        return self._of(namespace, pod).log(namespace, pod, container, options)

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession:
        return await self._of(namespace, pod).exec(namespace, pod, container, command, io)

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession:
        return await self._of(namespace, pod).attach(namespace, pod, container, io)

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._of(namespace, pod).connect(namespace, pod, port)

    async def dial(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._of(namespace, pod).dial(namespace, pod, port)


class MirrorPodLog:
    """The containers of one pod, whose container is this process: it has a log, and no exec or attach."""

    def __init__(self, path: pathlib.Path, namespace: str, pod: str) -> None:
        self._path, self._namespace, self._pod = path, namespace, pod

    def before(self, others: StreamingRuntime) -> StreamingRuntime:
        return _Combined(self, others)

    def has(self, namespace: str, pod: str) -> bool:
        return (namespace, pod) == (self._namespace, self._pod)

    def pods(self) -> list[dict[str, Any]]:
        return []

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        if not self.has(namespace, pod):
            raise PodNotFound(f'pod "{pod}" does not exist')

    async def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        await self.find(namespace, pod, container, "")
        if options.previous:
            raise ContainerNotStarted(f'previous terminated container "{container}" in pod "{pod}" not found')
        lines, position = await asyncio.to_thread(self._selected, options)
        yield b"".join(_with_timestamp(line, options.timestamps) for line in lines)
        while options.follow:
            await asyncio.sleep(POLL)
            with self._path.open("rb") as file:
                file.seek(position)
                content = file.read(READ_SIZE).rpartition(b"\n")
            if content[1]:
                fresh = content[0] + content[1]
                position += len(fresh)
                yield b"".join(_with_timestamp(line, options.timestamps) for line in fresh.splitlines(keepends=True))

    def _selected(self, options: LogOptions) -> tuple[list[bytes], int]:
        """The complete lines that are requested, and the offset of the next line."""
        content = self._path.read_bytes()
        end = content.rfind(b"\n") + 1
        lines = content[:end].splitlines(keepends=True)
        since = options.since(clock.now())
        if since is not None:
            lines = lines[_first_after(lines, since) :]
        if options.tail_lines is not None:
            lines = lines[-options.tail_lines :] if options.tail_lines else []
        return lines, end

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession:
        raise ExecFailed("exec is not available: this pod represents the traincrew process")

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession:
        raise ExecFailed("attach is not available: this pod represents the traincrew process. Follow its log instead.")

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    async def dial(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise ConnectionRefusedError("this pod has no address of its own")


def _time(line: bytes) -> dt.datetime | None:
    try:
        return times.parse(line[:24].decode("ascii"))
    except ValueError:
        return None


def _first_after(lines: list[bytes], since: dt.datetime) -> int:
    for index, line in enumerate(lines):
        moment = _time(line)
        if moment is not None and moment >= since:
            return index
    return len(lines)


def _with_timestamp(line: bytes, timestamps: bool) -> bytes:
    """A line starts with a timestamp already, but clients that request timestamps remove the first one."""
    if not timestamps or _time(line) is None:
        return line
    return line[:24] + b" " + line
