"""What a kubelet's endpoints need of the containers behind them."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import AsyncIterator
from typing import Any, Protocol


class StreamError(Exception):
    """No stream can be had; the message is for the client."""


class PodNotFound(StreamError):
    pass


class ContainerNotFound(StreamError):
    """The pod has no such container, or (for exec and attach) it does not run."""


class ContainerNotStarted(StreamError):
    """There is no log yet, or no previous one: `container "c" in pod "p" is waiting to start: ContainerCreating`."""


class ExecFailed(StreamError):
    """The command could not be started."""


@dataclasses.dataclass(frozen=True)
class LogOptions:
    """`limitBytes` is the endpoint's affair; everything else is the provider's."""

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
    """With a terminal there is no stderr of its own."""


class ByteReader(Protocol):
    """As asyncio.StreamReader: b"" is the end."""

    async def read(self, n: int = -1, /) -> bytes: ...


class ByteWriter(Protocol):
    """As asyncio.StreamWriter: `drain` waits while too much is on its way."""

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...
    def close(self) -> None: ...


class StreamSession(Protocol):
    """A command at work, or a look at a container that runs. What was not asked for is None."""

    @property
    def stdin(self) -> ByteWriter | None: ...
    @property
    def stdout(self) -> ByteReader | None: ...
    @property
    def stderr(self) -> ByteReader | None: ...
    def resize(self, width: int, height: int) -> None: ...
    async def wait(self) -> int:
        """The exit code; 128 + n when signal n ended it. Of an attach: any number, once the container has ended."""
        ...

    def close(self) -> None:
        """The client is gone or has been told everything: a command that still runs is killed, an attached container goes on.

        May be called twice.
        """
        ...


class StreamingRuntime(Protocol):
    def pods(self) -> list[dict[str, Any]]:
        """The pods of this node as Kubernetes objects."""
        ...

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        """Raises NoPod or NoContainer. An empty container or uid is not looked at."""
        ...

    def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """The first step comes at once, with b"" if there is nothing to read yet: only then is the client answered.

        It is where NoPod, NoContainer or NotStarted are raised.
        """
        ...

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession: ...

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession: ...

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod; raises OSError."""
        ...
