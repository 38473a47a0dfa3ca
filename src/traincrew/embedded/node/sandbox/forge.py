"""The daemon's side of the template process."""

from __future__ import annotations

import asyncio
import pathlib
import socket
import sys
from typing import Self

import traincrew
from traincrew.embedded.node.sandbox import protocol, spec
from traincrew.embedded.node.sandbox.connection import Connection
from traincrew.embedded.node.sandbox.contact import ALREADY, Declined, Shim
from traincrew.embedded.node.sandbox.faults import SandboxError, SandboxFailed

_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); from traincrew.embedded.node.sandbox.template import main;"
    "main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))"
)


class Template:
    def __init__(self, process: asyncio.subprocess.Process, sock: socket.socket) -> None:
        self._process = process
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connection = Connection(sock, self._heard, self._lost)

    @classmethod
    async def start(cls, data: pathlib.Path, isolation: spec.Isolation, userns_of: int | None = None) -> Self:
        """userns_of: a process whose user namespace the pods are to live in. `data` is where it may not be in the way."""
        ours, theirs = socket.socketpair()
        source = str(pathlib.Path(traincrew.__file__).parent.parent)
        arguments = ["-I", "-S", "-c", _START, source, str(theirs.fileno()), str(isolation), str(userns_of or 0)]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, pass_fds=[theirs.fileno()], cwd="/", start_new_session=True
            )
        finally:
            theirs.close()
        template = cls(process, ours)
        try:
            await template._ready
        except BaseException:
            await template.close()
            raise
        return template

    @property
    def pid(self) -> int:
        return self._process.pid

    async def fork(self, pod: spec.Pod) -> Shim:
        """Asked twice, even by two daemons, the pod has one shim. SandboxFailed: none, and nothing left of it."""
        ours, theirs = socket.socketpair()
        shim = Shim(ours, pathlib.Path(pod.directory))
        try:
            self._connection.send({"fork": spec.plain(pod)}, [theirs.detach()])
            return await shim.greeted()
        except Declined as refusal:
            if refusal.reason == ALREADY:
                return await Shim.connect(pathlib.Path(pod.directory))
            raise SandboxFailed(str(refusal)) from None
        except (SandboxError, ConnectionError) as error:
            raise SandboxFailed(str(error)) from None

    async def remove(self, path: pathlib.Path) -> None:
        """Takes a tree away with the rights that pods have: their files may not be the daemon's. OSError: something is left."""
        ours, theirs = socket.socketpair()
        answer: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
        gone = ConnectionError("the template process is gone")
        connection = Connection(
            ours, lambda message, _: answer.set_result(message), lambda: None if answer.done() else answer.set_exception(gone)
        )
        try:
            self._connection.send({"remove": str(path)}, [theirs.detach()])
            message = await answer
        finally:
            answer.cancel()
            connection.close()
        if "error" in message:
            raise OSError(message["error"])
        # A shim that was killed could not close its second door.
        (path.parent.parent / "doors" / f"{path.name}.sock").unlink(missing_ok=True)

    async def close(self) -> None:
        self._connection.close()
        await self._process.wait()

    def _heard(self, message: protocol.Message, _: list[int]) -> None:
        if "ready" in message and not self._ready.done():
            self._ready.set_result(None)
        elif "error" in message and not self._ready.done():
            self._ready.set_exception(SandboxFailed(message["error"]))

    def _lost(self) -> None:
        if not self._ready.done():
            self._ready.set_exception(SandboxFailed("the template process ended before it was ready"))
            self._ready.exception()
