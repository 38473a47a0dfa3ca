"""A connection to the netns daemon."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import socket
from typing import Any

from traincrew.embedded.kubelet.network import netns_state
from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.protocol import Message

NetnsReply = tuple[Message, list[socket.socket]]


class NetnsDaemonGone(ConnectionError):
    """The netns daemon does not reply."""


class NetnsConnection:
    """Supports concurrent requests. `ended` is set when the connection is closed."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket, self._lines = sock, protocol.LineReader()
        self._pending: dict[int, asyncio.Future[NetnsReply]] = {}
        self._number = 0
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock.fileno(), self._read)

    @classmethod
    async def open(cls, directory: pathlib.Path) -> NetnsConnection:
        """Raises NetnsDaemonGone."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            # Through the open directory: a socket address holds 107 bytes only.
            folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                await asyncio.get_running_loop().sock_connect(sock, f"/proc/self/fd/{folder}/{netns_state.SOCKET}")
            finally:
                os.close(folder)
        except OSError as error:
            sock.close()
            raise NetnsDaemonGone(str(error)) from error
        return cls(sock)

    async def request(self, operation: str, **arguments: Any) -> NetnsReply:
        """Raises NetnsDaemonGone; OSError if the request fails."""
        if self.ended.is_set():
            raise NetnsDaemonGone("the netns daemon has exited")
        self._number += 1
        number = self._number
        future = self._pending[number] = self._loop.create_future()
        try:
            await self._loop.sock_sendall(self._socket, protocol.encode({"id": number, "ask": operation, **arguments}))
            reply, sockets = await future
        except ConnectionError as error:
            raise NetnsDaemonGone(str(error)) from error
        finally:
            self._pending.pop(number, None)
        if "refused" in reply:
            raise OSError(int(reply.get("errno") or 0), str(reply["refused"]))
        return dict(reply.get("done") or {}), sockets

    def _read(self) -> None:
        try:
            data, fds = protocol.receive(self._socket)
            if not data:
                raise ConnectionError("the netns daemon has exited")
            for message, own in self._lines.feed(data, fds):
                self._complete(message, [socket.socket(fileno=fd) for fd in own])
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self.close()

    def _complete(self, message: Message, sockets: list[socket.socket]) -> None:
        future = self._pending.pop(int(message.get("id") or 0), None)
        if future is None or future.done():
            for each in sockets:
                each.close()
        else:
            future.set_result((message, sockets))

    def close(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        with contextlib.suppress(RuntimeError):
            self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._lines.close()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(NetnsDaemonGone("the netns daemon has exited"))
