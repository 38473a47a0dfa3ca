"""The interface between the kubelet's server and the containers: logs, exec, attach and port-forward."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import AsyncIterator
from typing import Any, Protocol


class StreamUnavailable(Exception):
    """The stream cannot be opened. The message is for the client."""


class PodNotFound(StreamUnavailable):
    pass


class ContainerNotFound(StreamUnavailable):
    """The pod has no such container, or (for exec and attach) the container is not running."""


class ContainerNotStarted(StreamUnavailable):
    """There is no log yet, or no previous one: `container "c" in pod "p" is waiting to start: ContainerCreating`."""


class ExecFailed(StreamUnavailable):
    """The command could not be started."""


@dataclasses.dataclass(frozen=True)
class LogOptions:
    """The endpoint applies `limit_bytes`; the runtime applies the rest."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: datetime.datetime | None = None
    limit_bytes: int | None = None
    stream: str = "All"
    """All, Stdout or Stderr."""

    def since(self, now: datetime.datetime) -> datetime.datetime | None:
        if self.since_seconds is not None:
            return now - datetime.timedelta(seconds=self.since_seconds)
        return self.since_time


@dataclasses.dataclass(frozen=True)
class ExecOptions:
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    """A terminal has no separate stderr."""


class ByteReader(Protocol):
    """As asyncio.StreamReader: b"" is the end of the stream."""

    async def read(self, n: int = -1, /) -> bytes: ...


class ByteWriter(Protocol):
    """As asyncio.StreamWriter: `drain` waits while the buffer is full."""

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...
    def close(self) -> None: ...


class StreamSession(Protocol):
    """A running command, or an attached container. A stream that was not requested is None."""

    @property
    def stdin(self) -> ByteWriter | None: ...
    @property
    def stdout(self) -> ByteReader | None: ...
    @property
    def stderr(self) -> ByteReader | None: ...
    def resize(self, width: int, height: int) -> None: ...
    async def wait(self) -> int:
        """The exit code, 128 + n after signal n. For attach: any number, once the container has ended."""
        ...

    def close(self) -> None:
        """Ends the session: kills a command that still runs; leaves an attached container alone.

        May be called twice.
        """
        ...


class StreamingRuntime(Protocol):
    def pods(self) -> list[dict[str, Any]]:
        """The pods of this node as Kubernetes objects."""
        ...

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        """Raises PodNotFound or ContainerNotFound. An empty container or uid is not checked."""
        ...

    def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yields at once, b"" if there is no data yet: the response starts with the first chunk.

        The first chunk is where NoPod, NoContainer or NotStarted are raised.
        """
        ...

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession: ...

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession: ...

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod, even of its loopback interface; raises OSError."""
        ...

    async def dial(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port at the pod's address, as other pods make it; raises OSError."""
        ...
