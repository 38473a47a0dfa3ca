"""The client of a shim."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import itertools
import os
import pathlib
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.runtime import protocol, spec
from traincrew.embedded.kubelet.runtime.client.connection import MessageConnection
from traincrew.embedded.kubelet.runtime.client.exec_session import ExecPipes, ExecSession
from traincrew.embedded.kubelet.runtime.client.shim_records import KILLED, ContainerUsage, ShimContainerStatus, container_status
from traincrew.embedded.kubelet.runtime.errors import (
    ContainerNotRunning,
    ContainerRuntimeError,
    ShimGone,
    ShimNotResponding,
    StartContainerError,
)
from traincrew.embedded.kubelet.runtime.shim import lock
from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecFailed, ExecOptions

ANSWER_SECONDS = 20.0
"""Seconds that a shim may take to answer."""
STOP_SECONDS = 20.0
"""Seconds that a shim may take to stop its pod. After five it kills the containers that have not ended."""
_START_SECONDS = 600.0
"""Seconds that a process may take to start, also on a machine that is overloaded."""
_SECONDS_OF = {"start": _START_SECONDS, "exec": _START_SECONDS}
ALREADY_RUNNING = "AlreadyRunning"
EndedContainer = tuple[str, int]
PendingReply = asyncio.Future[tuple[protocol.Message, list[int]]]


class ShimClient:
    """Every request raises ShimGone when the connection has ended, and ShimNotResponding when no reply comes in time."""

    def __init__(self, sock: socket.socket, directory: pathlib.Path) -> None:
        self.directory = directory
        self._numbers = itertools.count(1)
        self._pending: dict[int, PendingReply] = {}
        self._hello: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
        self._sessions: dict[int, asyncio.Future[int]] = {}
        self._ended: asyncio.Queue[EndedContainer | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self.pid = self.protocol = 0
        self._connection = MessageConnection(sock, self._on_message, self._on_lost)

    @classmethod
    async def connect(cls, directory: pathlib.Path, seconds: float = ANSWER_SECONDS) -> Self:
        """Connects to a running shim, perhaps of an earlier daemon. Waits for a shim that is starting.

        ShimGone: there is no shim. ShimNotResponding: it lives, but does not answer in time.
        """
        try:
            async with asyncio.timeout(seconds):
                return await cls._connect(directory)
        except TimeoutError:
            raise ShimNotResponding(f"the shim of {directory.name} does not answer") from None

    @classmethod
    async def _connect(cls, directory: pathlib.Path) -> Self:
        while True:
            alive = lock.is_held(str(directory))
            try:
                return await cls(_open_connection(directory), directory).wait_for_hello()
            except (OSError, ShimGone) as error:
                if not alive:
                    raise ShimGone(f"no shim answers in {directory}: {error}") from None
            await asyncio.sleep(0.01)

    async def wait_for_hello(self) -> Self:
        try:
            hello = await self._hello
        except BaseException:
            self.close()
            raise
        self.pid, self.protocol = hello["pid"], hello["protocol"]
        return self

    def close(self) -> None:
        """Disconnects. The shim lives on."""
        self._connection.close()

    # -- containers

    async def start(self, container: spec.ContainerConfig) -> datetime.datetime:
        """Idempotent for one attempt. StartContainerError: no process of the container runs."""
        try:
            reply, _ = await self.request("start", container=spec.to_json(container))
        except ShimError as error:
            raise StartContainerError(error.reason, str(error)) from None
        return times.parse(reply["started"])

    async def signal(self, name: str, number: int) -> None:
        """Signals the container's command. Does nothing if the container has ended."""
        with contextlib.suppress(ContainerNotRunning):
            await self.request("signal", name=name, number=number)

    async def kill(self, name: str) -> None:
        """Kills every process of the container."""
        with contextlib.suppress(ContainerNotRunning):
            await self.request("kill", name=name)

    async def container_statuses(self) -> dict[str, ShimContainerStatus]:
        reply, _ = await self.request("states")
        return {name: container_status(values) for name, values in reply["states"].items()}

    async def usage(self) -> dict[str, ContainerUsage]:
        reply, _ = await self.request("usage")
        return {name: ContainerUsage(**values) for name, values in reply["usage"].items()}

    async def exits(self) -> AsyncIterator[EndedContainer]:
        """Yields ended containers, earlier ones first. Exit record and log are complete on the disk."""
        while (ended := await self._ended.get()) is not None:
            yield ended
        self._ended.put_nowait(None)

    async def exec(
        self, name: str, argv: Sequence[str], io: ExecOptions, env_extra: Mapping[str, str] | None = None
    ) -> ExecSession:
        """Runs a command. It is killed when the session or this connection is closed."""
        pipes = ExecPipes(ExecOptions() if io.tty else io)
        number, ended = self._register_session()
        values: dict[str, Any] = {"name": name, "argv": list(argv), "env": dict(env_extra or {}), "tty": io.tty}
        try:
            _, fds = await self.request("exec", pipes.theirs, exec=number, streams=pipes.names, **values)
        except ContainerRuntimeError as error:
            self._sessions.pop(number, None)
            if isinstance(error, ShimNotResponding):
                self._notify("exec_kill", exec=number)  # it may start the command yet
            pipes.close()
            raise (ContainerNotFound if isinstance(error, ContainerNotRunning) else ExecFailed)(str(error)) from None
        except asyncio.CancelledError:
            # As after the timeout of a probe: nobody would close the session.
            self._notify("exec_kill", exec=number)
            self._sessions.pop(number, None)
            pipes.close()
            raise
        session = ExecSession(ended, lambda: self._notify("exec_kill", exec=number), fds[0] if fds else None)
        return session.over_terminal(io) if io.tty else session.over_pipes(pipes)

    async def attach(self, name: str, io: ExecOptions) -> ExecSession:
        """Attaches to the container. Closing the session does not affect the container."""
        pipes = ExecPipes(io)
        number, ended = self._register_session()
        try:
            _, fds = await self.request("attach", pipes.theirs, attach=number, name=name, streams=pipes.names)
        except ContainerRuntimeError as error:
            self._sessions.pop(number, None)
            pipes.close()
            raise ContainerNotFound(str(error)) from None
        return ExecSession(ended, lambda: None, fds[0] if fds else None).over_pipes(pipes)

    def _register_session(self) -> tuple[int, asyncio.Future[int]]:
        number = next(self._numbers)
        ended = self._sessions[number] = asyncio.get_running_loop().create_future()
        return number, ended

    def _notify(self, op: str, **values: Any) -> None:
        with contextlib.suppress(ConnectionError):
            self._connection.send({"id": next(self._numbers), "op": op, **values})

    async def issue_ticket(self, name: str, secret: str, seconds: float) -> None:
        await self.request("ticket", name=name, secret=secret, seconds=seconds)

    @property
    def is_connected(self) -> bool:
        return not self._gone.is_set()

    async def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stops the pod and the shim. Returns whether the shim has confirmed in time that no process of the pod is left."""
        try:
            await self.request("end", within=seconds)
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._gone.wait()
        except (ShimGone, ShimNotResponding, TimeoutError):
            return False
        return True

    # -- messages

    async def request(
        self, op: str, fds: Sequence[int] = (), within: float | None = None, **values: Any
    ) -> tuple[protocol.Message, list[int]]:
        """within: seconds for the reply."""
        number = next(self._numbers)
        reply: PendingReply = asyncio.get_running_loop().create_future()
        self._pending[number] = reply
        try:
            async with asyncio.timeout(within or _SECONDS_OF.get(op, ANSWER_SECONDS)):
                self._connection.send({"id": number, "op": op, **values}, fds)
                return await reply
        except TimeoutError:
            raise ShimNotResponding(f"the shim of {self.directory.name} does not answer") from None
        except ConnectionError:
            raise ShimGone(f"the shim of {self.directory.name} is gone") from None
        finally:
            self._pending.pop(number, None)

    def _on_message(self, message: protocol.Message, fds: list[int]) -> None:
        if "hello" in message:
            self._hello.set_result(message["hello"])
        for name, attempt in message.get("ended", ()):
            self._ended.put_nowait((name, attempt))
        ended = message.get("exec_ended", message.get("attach_ended"))
        if (session := self._sessions.pop(ended or 0, None)) is not None and not session.done():
            session.set_result(message.get("code", 0))
        reply = self._pending.get(message.get("id", 0))
        if reply is not None and not reply.done():
            _complete(reply, message, fds)
        else:
            for fd in fds:
                os.close(fd)
        if "error" in message and not self._hello.done():
            self._hello.set_exception(ShimError(message.get("reason", ""), message["error"]))

    def _on_lost(self) -> None:
        gone = ShimGone(f"the shim of {self.directory.name} is gone")
        if not self._hello.done():
            self._hello.set_exception(gone)
            self._hello.exception()  # no task may be waiting for it
        for session in self._sessions.values():
            if not session.done():
                session.set_result(KILLED)  # the pod's processes end with the shim
        for each in self._pending.values():
            if not each.done():
                each.set_exception(gone)
        self._ended.put_nowait(None)
        self._gone.set()


class ShimError(ContainerRuntimeError):
    """The shim answered with an error."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _complete(reply: PendingReply, message: protocol.Message, fds: list[int]) -> None:
    if "error" not in message:
        reply.set_result((message, fds))
    elif message.get("reason") == "NotRunning":
        reply.set_exception(ContainerNotRunning(message["error"]))
    else:
        reply.set_exception(ShimError(message.get("reason", ""), message["error"]))


def _open_connection(directory: pathlib.Path) -> socket.socket:
    """Connects through the open directory: a path may be longer than a socket address.

    Never waits: the queue of a shim that does not answer may be full. Raises OSError.
    """
    opened = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        sock.connect(f"/proc/self/fd/{opened}/shim.sock")
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(opened)
    return sock
