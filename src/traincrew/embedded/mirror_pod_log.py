"""The daemon's own log, as the log of the operator's pod."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections.abc import AsyncIterator
from typing import Any

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
"""Seconds between looks for new lines of a followed log."""
PIECE = 1 << 16


class _Before:
    """`streams.Containers` of both: the one pod of `own`, and those of the node."""

    def __init__(self, own: OwnLog, others: StreamingRuntime) -> None:
        self._own, self._others = own, others

    def _of(self, namespace: str, pod: str) -> StreamingRuntime:
        return self._own if self._own.has(namespace, pod) else self._others

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


class OwnLog:
    """`streams.Containers` with one pod, whose container is this very process: it can be read, not entered."""

    def __init__(self, path: pathlib.Path, namespace: str, pod: str) -> None:
        self._path, self._namespace, self._pod = path, namespace, pod

    def before(self, others: StreamingRuntime) -> StreamingRuntime:
        return _Before(self, others)

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
        lines, position = await asyncio.to_thread(self._chosen, options)
        yield b"".join(_shown(line, options.timestamps) for line in lines)
        while options.follow:
            await asyncio.sleep(POLL)
            with self._path.open("rb") as file:
                file.seek(position)
                whole = file.read(PIECE).rpartition(b"\n")
            if whole[1]:
                fresh = whole[0] + whole[1]
                position += len(fresh)
                yield b"".join(_shown(line, options.timestamps) for line in fresh.splitlines(keepends=True))

    def _chosen(self, options: LogOptions) -> tuple[list[bytes], int]:
        """The whole lines that were asked for, and where the next one begins."""
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
        raise ExecFailed("this pod stands for the operator inside the traincrew process: there is no container to enter")

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession:
        raise ExecFailed("this pod stands for the operator inside the traincrew process: follow its log instead")

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)


def _moment(line: bytes) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(line[:24].decode("ascii"))
    except ValueError:
        return None


def _first_after(lines: list[bytes], since: dt.datetime) -> int:
    for index, line in enumerate(lines):
        moment = _moment(line)
        if moment is not None and moment >= since:
            return index
    return len(lines)


def _shown(line: bytes, timestamps: bool) -> bytes:
    """A line of ours begins with its time already, but who asks for timestamps cuts one off."""
    if not timestamps or _moment(line) is None:
        return line
    return line[:24] + b" " + line
