"""Other people's names: asked of the host's resolvers, by sockets that were made before the holder left the host's network.

A socket belongs for ever to the network namespace that it was made in: so 127.0.0.53 of the host is reached too, with egress or
without.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import socket
import struct
import time
from collections.abc import Callable

from traincrew.embedded.kubelet.network import dns_messages
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, WRITE, EventLoop

OnReply = Callable[[bytes], None]
"""Gets the answer; b"" if there is none."""
TIMEOUT_SECONDS = 0.9
"""Seconds until an asker is told that there is no answer."""
_NEXT = 0.3
"""Seconds until the next resolver is asked as well."""
_TICK = 0.05
_MUTE_AFTER, _MUTE = 3, 3.0
"""So many questions without any answer: for that many seconds nobody is kept waiting."""
_MOST = 2000
_PORT = 53


@dataclasses.dataclass
class _Asked:
    data: bytes
    question: bytes
    done: OnReply
    servers: list[str]
    since: float
    sent: float


class UpstreamResolver:
    """Made in the host's network, attached to a loop later on."""

    def __init__(self, configuration: str = "/etc/resolv.conf") -> None:
        self._configuration, self._read_at, self._servers = configuration, 0.0, list[str]()
        # Several, so that an answer is hard to forge: neither number nor port can be guessed from the last question.
        self._plain = _sockets(socket.AF_INET, socket.SOCK_DGRAM)
        self._plain6 = _sockets(socket.AF_INET6, socket.SOCK_DGRAM)
        self._idle = _sockets(socket.AF_INET, socket.SOCK_STREAM)
        self._asked: dict[int, _Asked] = {}
        self._silent, self._mute_until = 0, 0.0
        self._loop: EventLoop | None = None

    def attach(self, loop: EventLoop) -> None:
        self._loop = loop
        for each in (*self._plain, *self._plain6):
            loop.watch(each.fileno(), READ, lambda sock=each: self._heard(sock))  # type: ignore[misc]

    def ask(self, data: bytes, done: OnReply) -> None:
        """data: a question, whose number is replaced; the answer has the asker's again."""
        now, servers = time.monotonic(), self.servers()
        if not servers or now < self._mute_until or len(self._asked) >= _MOST:
            done(b"")
            return
        number = _chance()
        while number in self._asked:
            number = _chance()
        asked = _Asked(data, dns_messages.question_section(data), done, list(servers), now, 0.0)
        self._asked[number] = asked
        self._send(number, asked, now)
        self._wait()

    def ask_whole(self, data: bytes, done: OnReply) -> None:
        """By TCP, as far as there are sockets for it: answers of any size."""
        servers = [each for each in self.servers() if ":" not in each]
        if self._loop is None or not servers or not self._idle or time.monotonic() < self._mute_until:
            self.ask(data, done)
            return
        _Whole(self._loop, self._idle, (servers[0], _PORT), data, done)

    def servers(self) -> list[str]:
        now = time.monotonic()
        if now - self._read_at > 1.0 or not self._read_at:
            self._read_at = now
            self._servers = nameservers(self._configuration)
        return self._servers

    def _wait(self) -> None:
        if self._loop is not None and self._asked:
            self._loop.call_later(_TICK, self._tick)

    def _send(self, number: int, asked: _Asked, now: float) -> None:
        while asked.servers:
            server = asked.servers.pop(0)
            asked.sent = now
            sockets = self._plain6 if ":" in server else self._plain
            try:
                sockets[_chance() % len(sockets)].sendto(struct.pack("!H", number) + asked.data[2:], (server, _PORT))
                return
            except (OSError, ZeroDivisionError):
                continue

    def _tick(self) -> None:
        now = time.monotonic()
        for number, asked in list(self._asked.items()):
            if now - asked.since >= TIMEOUT_SECONDS:
                del self._asked[number]
                self._silent += 1
                if self._silent >= _MUTE_AFTER:
                    self._mute_until = now + _MUTE
                asked.done(b"")
            elif asked.servers and now - asked.sent >= _NEXT:
                self._send(number, asked, now)
        self._wait()

    def _heard(self, sock: socket.socket) -> None:
        try:
            data, (host, port, *_) = sock.recvfrom(1 << 16)
        except OSError:
            return
        if len(data) < 12 or port != _PORT or host.partition("%")[0] not in self._servers:
            return
        self._silent, self._mute_until = 0, 0.0
        number = int.from_bytes(data[:2], "big")
        asked = self._asked.get(number)
        if asked is not None and dns_messages.question_section(data) == asked.question:
            del self._asked[number]
            asked.done(asked.data[:2] + data[2:])


class _Whole:
    """One question by TCP. The socket is used again afterwards: a new one would belong to the wrong network."""

    def __init__(self, loop: EventLoop, idle: list[socket.socket], server: tuple[str, int], data: bytes, done: OnReply) -> None:
        self._loop, self._idle, self._done = loop, idle, done
        self._socket: socket.socket | None = (taken := idle.pop())
        self._out, self._in = struct.pack("!H", len(data)) + data, b""
        taken.connect_ex(server)
        loop.watch(taken.fileno(), WRITE, self._write)
        loop.call_later(TIMEOUT_SECONDS, self._end)

    def _write(self) -> None:
        if self._socket is None:
            return
        try:
            self._out = self._out[self._socket.send(self._out) :]
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        if not self._out:
            self._loop.watch(self._socket.fileno(), READ, self._read)

    def _read(self) -> None:
        if self._socket is None:
            return
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._in += data
        whole = len(self._in) >= 2 and len(self._in) >= 2 + int.from_bytes(self._in[:2], "big")
        if whole or not data:
            self._end()

    def _end(self) -> None:
        if self._socket is None:
            return
        self._loop.unwatch(self._socket.fileno())
        _disconnect(self._socket.fileno())
        self._idle.append(self._socket)
        self._socket = None
        length = int.from_bytes(self._in[:2], "big") if len(self._in) > 2 else 0
        self._done(self._in[2 : 2 + length] if length and len(self._in) >= 2 + length else b"")


def _chance() -> int:
    """Of 16 bits. The module `secrets` would bring OpenSSL with it."""
    return int.from_bytes(os.urandom(2), "big")


def nameservers(path: str) -> list[str]:
    """At most three, as the C library has it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver" and _is_address(words[1])][:3]


def _is_address(text: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            socket.inet_pton(family, text)
            return True
    return False


def _sockets(family: int, kind: int, count: int = 4) -> list[socket.socket]:
    """None on a machine without that family."""
    try:
        made = [socket.socket(family, kind) for _ in range(count)]
    except OSError:
        return []
    for each in made:
        each.setblocking(False)
    return made


def _disconnect(descriptor: int) -> None:
    """connect() with an address of no family (AF_UNSPEC is 0): the socket is as new."""
    nowhere = ctypes.create_string_buffer(bytes(16))
    ctypes.CDLL(None).connect(ctypes.c_int(descriptor), nowhere, ctypes.c_uint(16))
