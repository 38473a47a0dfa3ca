"""The client of the template process."""

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
from traincrew.embedded.kubelet.runtime.client.connection import MessageConnection
from traincrew.embedded.kubelet.runtime.client.shim_client import ALREADY_RUNNING, ShimClient, ShimError
from traincrew.embedded.kubelet.runtime.errors import ContainerRuntimeError, CreateSandboxError
from traincrew.embedded.kubelet.runtime.shim import exec_socket

log = logging.getLogger(__name__)

_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); from traincrew.embedded.kubelet.runtime.shim import program_files;"
    "program_files.execute_read_only(sys.argv); from traincrew.embedded.kubelet.runtime.shim.template import main;"
    "program_files.return_to_host(sys.argv); main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))"
)
_ATTEMPTS = 3
"""Attempts for one request, if the template process is killed meanwhile."""


class TemplateClient:
    """Starts the template process, and starts it again when it was killed. Shims are not its children and live on."""

    def __init__(self, isolation: spec.Isolation, userns: int) -> None:
        self._isolation = isolation
        self._userns = userns
        """The user namespace of the pods; -1: the daemon's own."""
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    @classmethod
    async def start(cls, data: pathlib.Path, isolation: spec.Isolation, userns_of: int | None = None) -> Self:
        """userns_of: a process in the user namespace of the pods."""
        userns = os.open(f"/proc/{userns_of}/ns/user", os.O_RDONLY | os.O_CLOEXEC) if userns_of else -1
        template = cls(isolation, userns)
        try:
            await template._running()
        except BaseException:
            await template.close()
            raise
        return template

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def fork(self, pod: spec.PodSandboxConfig) -> ShimClient:
        """Returns the shim of the pod; starts it if there is none. CreateSandboxError: nothing of it is left."""
        for left in reversed(range(_ATTEMPTS)):
            process = await self._running()
            ours, theirs = socket.socketpair()
            shim = ShimClient(ours, pathlib.Path(pod.directory))
            try:
                process.connection.send({"fork": spec.to_json(pod)}, [theirs.detach()])
                return await shim.wait_for_hello()
            except ShimError as error:
                if error.reason == ALREADY_RUNNING:
                    return await ShimClient.connect(pathlib.Path(pod.directory))
                raise CreateSandboxError(str(error)) from None
            except (ContainerRuntimeError, ConnectionError) as error:
                if not left or not await process.is_lost():
                    raise CreateSandboxError(str(error)) from None
        raise AssertionError

    async def remove(self, path: pathlib.Path) -> None:
        """Removes a tree with the rights of the pods, who may own files in it. OSError: the tree is not removed completely."""
        for left in reversed(range(_ATTEMPTS)):
            process = await self._running()
            try:
                await _request_removal(process.connection, path)
                break
            except ConnectionError:
                if not left or not await process.is_lost():
                    raise

    async def remove_pod(self, directory: pathlib.Path) -> None:
        """Removes the directory of a pod, and the exec socket that a killed shim leaves. Raises OSError like `remove`."""
        await self.remove(directory)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(exec_socket.path(str(directory)))

    async def close(self) -> None:
        self._closed = True
        if self._process is not None:
            await self._process.close()
        if self._userns >= 0:
            os.close(self._userns)
            self._userns = -1

    async def _running(self) -> _Process:
        async with self._starting:
            if self._closed:
                raise ConnectionError("the template process was stopped")
            if self._process is None or self._process.lost.is_set():
                if self._process is not None:
                    log.warning("template process exited, starting another one", extra={"pid": self._process.pid})
                    await self._process.close()
                self._process = await _Process.start(self._isolation, self._userns)
            return self._process


class _Process:
    def __init__(self, process: asyncio.subprocess.Process, sock: socket.socket) -> None:
        self._process = process
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()
        self.connection = MessageConnection(sock, self._on_message, self._on_lost)

    @classmethod
    async def start(cls, isolation: spec.Isolation, userns: int) -> Self:
        ours, theirs = socket.socketpair()
        source = str(pathlib.Path(traincrew.__file__).parent.parent)
        arguments = ["-I", "-S", "-c", _START, source, str(theirs.fileno()), str(isolation), str(userns)]
        try:
            # Shims outlive the daemon: they must not keep its standard output open.
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, pass_fds=[fd for fd in (theirs.fileno(), userns) if fd >= 0], cwd="/",
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        finally:
            theirs.close()
        started = cls(process, ours)
        try:
            await started._ready
        except BaseException:
            await started.close()
            raise
        return started

    @property
    def pid(self) -> int:
        return self._process.pid

    async def is_lost(self) -> bool:
        """Waits a moment: the exit of the process may not be noticed yet."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await self.lost.wait()
        return self.lost.is_set()

    async def close(self) -> None:
        self.connection.close()
        await self._process.wait()

    def _on_message(self, message: protocol.Message, _: list[int]) -> None:
        if "ready" in message and not self._ready.done():
            self._ready.set_result(None)
        elif "error" in message and not self._ready.done():
            self._ready.set_exception(CreateSandboxError(message["error"]))

    def _on_lost(self) -> None:
        self.lost.set()
        if not self._ready.done():
            self._ready.set_exception(CreateSandboxError("the template process ended before it was ready"))
            self._ready.exception()


async def _request_removal(template: MessageConnection, path: pathlib.Path) -> None:
    ours, theirs = socket.socketpair()
    reply: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
    lost = ConnectionError("the template process is gone")
    connection = MessageConnection(
        ours, lambda message, _: reply.set_result(message), lambda: None if reply.done() else reply.set_exception(lost)
    )
    try:
        template.send({"remove": str(path)}, [theirs.detach()])
        message = await reply
    finally:
        reply.cancel()
        connection.close()
    if "error" in message:
        raise OSError(message["error"])
