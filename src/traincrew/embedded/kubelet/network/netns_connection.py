"""A connection to the netns daemon."""

from __future__ import annotations

import asyncio
import itertools
import os
import pathlib
import socket
from typing import Any

from traincrew.embedded.kubelet.network import former_netns_daemon, netns_state
from traincrew.embedded.kubelet.runtime.client.connection import MessageConnection
from traincrew.embedded.kubelet.runtime.protocol import Message

NetnsReply = tuple[Message, list[socket.socket]]
ANSWER_SECONDS = 30.0
"""Seconds that the netns daemon may take to answer."""


class NetnsDaemonGone(ConnectionError):
    """The netns daemon does not reply."""


class NetnsConnection:
    """Supports concurrent requests. `ended` is set when the connection is closed."""

    def __init__(self, sock: socket.socket, *, former: bool) -> None:
        """former: the netns daemon is of an earlier release."""
        self._former = former
        self._pending: dict[int, asyncio.Future[NetnsReply]] = {}
        self._numbers = itertools.count(1)
        self.ended = asyncio.Event()
        self._connection = MessageConnection(sock, self._on_message, self._on_lost)

    @classmethod
    async def open(cls, directory: pathlib.Path) -> NetnsConnection:
        """Raises NetnsDaemonGone."""
        try:
            return cls(await _connect(directory, netns_state.SOCKET), former=False)
        except OSError as error:
            try:
                return cls(await _connect(directory, former_netns_daemon.SOCKET), former=True)
            except OSError:
                raise NetnsDaemonGone(str(error)) from error

    @property
    def protocol(self) -> int:
        """The version that this connection uses."""
        return former_netns_daemon.PROTOCOL if self._former else netns_state.PROTOCOL

    async def request(self, operation: str, **arguments: Any) -> NetnsReply:
        """Raises NetnsDaemonGone; OSError if the request fails; TimeoutError, a subclass of it, if no reply comes in time."""
        number = next(self._numbers)
        future = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            message = {"id": number, "op": operation, **arguments}
            self._connection.send(former_netns_daemon.to_request(message) if self._former else message)
            async with asyncio.timeout(ANSWER_SECONDS):
                reply, sockets = await future
        except TimeoutError:
            raise TimeoutError("the netns daemon does not answer") from None
        except ConnectionError as error:
            raise NetnsDaemonGone(str(error)) from error
        finally:
            self._pending.pop(number, None)
        if self._former:
            reply = former_netns_daemon.from_reply(reply)
        if "error" in reply:
            raise OSError(int(reply.get("errno") or 0), str(reply["error"]))
        return dict(reply.get("result") or {}), sockets

    def close(self) -> None:
        self._connection.close()

    def _on_message(self, message: Message, fds: list[int]) -> None:
        future = self._pending.get(int(message.get("id") or 0))
        if future is None or future.done():
            for fd in fds:
                os.close(fd)
        else:
            future.set_result((message, [socket.socket(fileno=fd) for fd in fds]))

    def _on_lost(self) -> None:
        self.ended.set()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(NetnsDaemonGone("the netns daemon has exited"))


async def _connect(directory: pathlib.Path, name: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        # Through the open directory: a socket address holds 107 bytes only.
        folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            await asyncio.get_running_loop().sock_connect(sock, f"/proc/self/fd/{folder}/{name}")
        finally:
            os.close(folder)
    except BaseException:
        sock.close()
        raise
    return sock
