"""The daemon's side of the template process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pathlib
import socket
import subprocess
import sys
from typing import Self

import traincrew
from traincrew.embedded.kubelet.runtime import protocol, spec
from traincrew.embedded.kubelet.runtime.client.connection import Connection
from traincrew.embedded.kubelet.runtime.client.shim_client import ALREADY_RUNNING, ShimClient, ShimError
from traincrew.embedded.kubelet.runtime.errors import ContainerRuntimeError, CreateSandboxError

log = logging.getLogger(__name__)

_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); from traincrew.embedded.kubelet.runtime.shim.template import main;"
    "main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))"
)
_TRIES = 3
"""A template that somebody kills again and again is not worth more."""


class TemplateClient:
    """One that runs. Killed, it is replaced by the next request; shims are no children of it and live on."""

    def __init__(self, isolation: spec.Isolation, space: int) -> None:
        self._isolation = isolation
        self._space = space
        """The user namespace that pods live in; -1: the daemon's own."""
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    @classmethod
    async def start(cls, data: pathlib.Path, isolation: spec.Isolation, userns_of: int | None = None) -> Self:
        """userns_of: a process whose user namespace the pods are to live in. `data` is where it may not be in the way."""
        space = os.open(f"/proc/{userns_of}/ns/user", os.O_RDONLY | os.O_CLOEXEC) if userns_of else -1
        template = cls(isolation, space)
        try:
            await template._living()
        except BaseException:
            await template.close()
            raise
        return template

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def fork(self, pod: spec.Pod) -> ShimClient:
        """Asked twice, even by two daemons, the pod has one shim. SandboxFailed: none, and nothing left of it."""
        for left in reversed(range(_TRIES)):
            process = await self._living()
            ours, theirs = socket.socketpair()
            shim = ShimClient(ours, pathlib.Path(pod.directory))
            try:
                process.connection.send({"fork": spec.to_json(pod)}, [theirs.detach()])
                return await shim.greeted()
            except ShimError as refusal:
                if refusal.reason == ALREADY_RUNNING:
                    return await ShimClient.connect(pathlib.Path(pod.directory))
                raise CreateSandboxError(str(refusal)) from None
            except (ContainerRuntimeError, ConnectionError) as error:
                if not left or not await process.is_lost():
                    raise CreateSandboxError(str(error)) from None
        raise AssertionError

    async def remove(self, path: pathlib.Path) -> None:
        """Takes a tree away with the rights that pods have: their files may not be the daemon's. OSError: something is left."""
        for left in reversed(range(_TRIES)):
            process = await self._living()
            try:
                await _removed(process.connection, path)
                break
            except ConnectionError:
                if not left or not await process.is_lost():
                    raise
        # A shim that was killed could not close its second door.
        (path.parent.parent / "doors" / f"{path.name}.sock").unlink(missing_ok=True)

    async def close(self) -> None:
        self._closed = True
        if self._process is not None:
            await self._process.close()
        if self._space >= 0:
            os.close(self._space)
            self._space = -1

    async def _living(self) -> _Process:
        async with self._starting:
            if self._closed:
                raise ConnectionError("the template process was ended")
            if self._process is None or self._process.lost.is_set():
                if self._process is not None:
                    log.warning("the template process is gone: starting another one", extra={"pid": self._process.pid})
                    await self._process.close()
                self._process = await _Process.start(self._isolation, self._space)
            return self._process


class _Process:
    def __init__(self, process: asyncio.subprocess.Process, sock: socket.socket) -> None:
        self._process = process
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()
        self.connection = Connection(sock, self._heard, self._ended)

    @classmethod
    async def start(cls, isolation: spec.Isolation, space: int) -> Self:
        ours, theirs = socket.socketpair()
        source = str(pathlib.Path(traincrew.__file__).parent.parent)
        arguments = ["-I", "-S", "-c", _START, source, str(theirs.fileno()), str(isolation), str(space)]
        try:
            # Shims outlive the daemon: whoever reads its output must not wait for theirs to end.
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, pass_fds=[fd for fd in (theirs.fileno(), space) if fd >= 0], cwd="/",
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        finally:
            theirs.close()
        found = cls(process, ours)
        try:
            await found._ready
        except BaseException:
            await found.close()
            raise
        return found

    @property
    def pid(self) -> int:
        return self._process.pid

    async def is_lost(self) -> bool:
        """One that is just ending may still look well."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await self.lost.wait()
        return self.lost.is_set()

    async def close(self) -> None:
        self.connection.close()
        await self._process.wait()

    def _heard(self, message: protocol.Message, _: list[int]) -> None:
        if "ready" in message and not self._ready.done():
            self._ready.set_result(None)
        elif "error" in message and not self._ready.done():
            self._ready.set_exception(CreateSandboxError(message["error"]))

    def _ended(self) -> None:
        self.lost.set()
        if not self._ready.done():
            self._ready.set_exception(CreateSandboxError("the template process ended before it was ready"))
            self._ready.exception()


async def _removed(template: Connection, path: pathlib.Path) -> None:
    ours, theirs = socket.socketpair()
    answer: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
    gone = ConnectionError("the template process is gone")
    connection = Connection(
        ours, lambda message, _: answer.set_result(message), lambda: None if answer.done() else answer.set_exception(gone)
    )
    try:
        template.send({"remove": str(path)}, [theirs.detach()])
        message = await answer
    finally:
        answer.cancel()
        connection.close()
    if "error" in message:
        raise OSError(message["error"])
