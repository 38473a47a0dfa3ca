"""The daemon's way to pods: a template that forks shims, and the shims."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import itertools
import json
import os
import pathlib
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

from traincrew.client import clock
from traincrew.embedded.kubelet.runtime import protocol, spec
from traincrew.embedded.kubelet.runtime.client.connection import Connection
from traincrew.embedded.kubelet.runtime.client.exec_session import ExecPipes, ExecSession
from traincrew.embedded.kubelet.runtime.errors import ContainerNotRunning, ContainerRuntimeError, ShimGone, StartContainerError
from traincrew.embedded.kubelet.runtime.shim import lock
from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecFailed, ExecOptions

_KILLED = 137
ALREADY_RUNNING = "AlreadyRunning"
Ended = tuple[str, int]
Answer = asyncio.Future[tuple[protocol.Message, list[int]]]


@dataclasses.dataclass(frozen=True)
class ContainerStatus:
    attempt: int
    running: bool
    pid: int
    started: datetime.datetime


@dataclasses.dataclass(frozen=True)
class ContainerUsage:
    cpu_seconds: float
    memory_bytes: int
    pids: int


def read_exit(directory: pathlib.Path, name: str, attempt: int) -> spec.Exit | None:
    """directory: the pod's. None: it has not ended, or never ran."""
    try:
        text = (directory / "containers" / name / str(attempt) / "exit.json").read_bytes()
    except FileNotFoundError:
        return None
    return spec.exit_from_json(json.loads(text))


class ShimClient:
    """A pod's keeper. Every request raises ShimGone when there is none any more."""

    def __init__(self, sock: socket.socket, directory: pathlib.Path) -> None:
        self.directory = directory
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._hello: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
        self._sessions: dict[int, asyncio.Future[int]] = {}
        self._ended: asyncio.Queue[Ended | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self.pid = self.protocol = 0
        self._connection = Connection(sock, self._heard, self._lost)

    @classmethod
    async def connect(cls, directory: pathlib.Path) -> Self:
        """To a shim that was started earlier, perhaps by another daemon. One that is coming into being is waited for."""
        while True:
            living = lock.is_held(str(directory))
            try:
                return await cls(_connected(directory), directory).greeted()
            except (OSError, ShimGone) as error:
                if not living:
                    raise ShimGone(f"no shim answers in {directory}: {error}") from None
            await asyncio.sleep(0.01)

    async def greeted(self) -> Self:
        try:
            facts = await self._hello
        except BaseException:
            self.close()
            raise
        self.pid, self.protocol = facts["pid"], facts["protocol"]
        return self

    def close(self) -> None:
        """Lets go of it; it lives on."""
        self._connection.close()

    # -- containers

    async def start(self, container: spec.Container) -> datetime.datetime:
        """Asked twice for the same attempt, the shim starts it once. StartFailed: nothing runs."""
        try:
            answer, _ = await self.ask("start", container=spec.to_json(container))
        except ShimError as refusal:
            raise StartContainerError(refusal.reason, str(refusal)) from None
        return datetime.datetime.fromisoformat(answer["started"])

    async def signal(self, name: str, number: int) -> None:
        """To the container's command. One that has ended is not worth a word."""
        with contextlib.suppress(ContainerNotRunning):
            await self.ask("signal", name=name, number=number)

    async def kill(self, name: str) -> None:
        """KILL to every process of the container."""
        with contextlib.suppress(ContainerNotRunning):
            await self.ask("kill", name=name)

    async def states(self) -> dict[str, ContainerStatus]:
        answer, _ = await self.ask("states")
        return {name: _state(values) for name, values in answer["states"].items()}

    async def usage(self) -> dict[str, ContainerUsage]:
        answer, _ = await self.ask("usage")
        return {name: ContainerUsage(**values) for name, values in answer["usage"].items()}

    async def exits(self) -> AsyncIterator[Ended]:
        """Those that had ended before are told first. Each has its record and its whole log on the disk."""
        while (ended := await self._ended.get()) is not None:
            yield ended
        self._ended.put_nowait(None)

    async def exec(
        self, name: str, argv: Sequence[str], io: ExecOptions, env_extra: Mapping[str, str] | None = None
    ) -> ExecSession:
        """Killed when the session is closed or this connection ends."""
        pipes = ExecPipes(ExecOptions() if io.tty else io)
        number, ended = self._expect()
        values = {"name": name, "argv": list(argv), "env": dict(env_extra or {}), "tty": io.tty}
        try:
            _, fds = await self.ask("exec", pipes.theirs, exec=number, streams=pipes.names, **values)
        except ContainerRuntimeError as error:
            self._sessions.pop(number, None)
            pipes.close()
            raise (ContainerNotFound if isinstance(error, ContainerNotRunning) else ExecFailed)(str(error)) from None
        session = ExecSession(ended, lambda: self._order("exec_kill", exec=number), fds[0] if fds else None)
        return session.over_terminal(io) if io.tty else session.over_pipes(pipes)

    async def attach(self, name: str, io: ExecOptions) -> ExecSession:
        """Output from now on; input if the container takes any. It goes on when the session is closed."""
        pipes = ExecPipes(io)
        number, ended = self._expect()
        try:
            _, fds = await self.ask("attach", pipes.theirs, attach=number, name=name, streams=pipes.names)
        except ContainerRuntimeError as error:
            self._sessions.pop(number, None)
            pipes.close()
            raise ContainerNotFound(str(error)) from None
        return ExecSession(ended, lambda: None, fds[0] if fds else None).over_pipes(pipes)

    def _expect(self) -> tuple[int, asyncio.Future[int]]:
        number = next(self._numbers)
        ended = self._sessions[number] = asyncio.get_running_loop().create_future()
        return number, ended

    def _order(self, op: str, **values: Any) -> None:
        with contextlib.suppress(ConnectionError):
            self._connection.send({"id": next(self._numbers), "op": op, **values})

    async def ticket(self, name: str, secret: str, seconds: float) -> None:
        await self.ask("ticket", name=name, secret=secret, seconds=seconds)

    async def end(self) -> None:
        """Nothing of the pod runs afterwards."""
        with contextlib.suppress(ShimGone):
            await self.ask("end")
            await self._gone.wait()

    # -- the conversation

    async def ask(self, op: str, fds: Sequence[int] = (), **values: Any) -> tuple[protocol.Message, list[int]]:
        number = next(self._numbers)
        answer: Answer = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self._connection.send({"id": number, "op": op, **values}, fds)
            return await answer
        except ConnectionError:
            raise ShimGone(f"the shim of {self.directory.name} is gone") from None
        finally:
            self._answers.pop(number, None)

    def _heard(self, message: protocol.Message, fds: list[int]) -> None:
        if "hello" in message:
            self._hello.set_result(message["hello"])
        for name, attempt in message.get("ended", ()):
            self._ended.put_nowait((name, attempt))
        ended = message.get("exec_ended", message.get("attach_ended"))
        if (session := self._sessions.pop(ended or 0, None)) is not None and not session.done():
            session.set_result(message.get("code", 0))
        answer = self._answers.get(message.get("id", 0))
        if answer is not None and not answer.done():
            _settle(answer, message, fds)
        else:
            for fd in fds:
                os.close(fd)
        if "error" in message and not self._hello.done():
            self._hello.set_exception(ShimError(message.get("reason", ""), message["error"]))

    def _lost(self) -> None:
        gone = ShimGone(f"the shim of {self.directory.name} is gone")
        if not self._hello.done():
            self._hello.set_exception(gone)
            self._hello.exception()  # nobody may be waiting
        for session in self._sessions.values():
            if not session.done():
                session.set_result(_KILLED)  # with the shim, everything of its pod
        for each in self._answers.values():
            if not each.done():
                each.set_exception(gone)
        self._ended.put_nowait(None)
        self._gone.set()


class ShimError(ContainerRuntimeError):
    """The shim's own word why not."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _settle(answer: Answer, message: protocol.Message, fds: list[int]) -> None:
    if "error" not in message:
        answer.set_result((message, fds))
    elif message.get("reason") == "NotRunning":
        answer.set_exception(ContainerNotRunning(message["error"]))
    else:
        answer.set_exception(ShimError(message.get("reason", ""), message["error"]))


def _state(values: Mapping[str, Any]) -> ContainerStatus:
    started = datetime.datetime.fromisoformat(values["started"]) if values["started"] else clock.now()
    return ContainerStatus(values["attempt"], values["running"], values["pid"], started)


def _connected(directory: pathlib.Path) -> socket.socket:
    """A path may be longer than a socket's address: so by way of its directory."""
    place = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(f"/proc/self/fd/{place}/shim.sock")
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(place)
    return sock
