"""Forwards queries to the host's resolvers, with sockets that were created in the host's network namespace.

A socket stays in the network namespace in which it was created. So 127.0.0.53 of the host works, with or without egress.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import socket
import struct
import time

from traincrew.embedded.kubelet.network import dns_messages
from traincrew.embedded.kubelet.network.dns_tcp_query import DNS_PORT, TIMEOUT_SECONDS, OnReply, TcpQuery
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop

_NEXT_RESOLVER_SECONDS = 0.3
"""Seconds until the query is also sent to the next resolver."""
_TICK = 0.05
_PROBE_AFTER, _SUSPEND_SECONDS = 2, 3.0
"""After so many queries without a reply the resolvers are asked for the root servers, which each of them knows. If none replies,
queries fail at once for so many seconds. Queries of clients alone do not decide: one may ask for names that nobody answers."""
_MAX_PENDING, _MAX_PENDING_OF_CLIENT = 2000, 200
_MAX_TCP_OF_CLIENT = 2


@dataclasses.dataclass
class _PendingQuery:
    client: str
    data: bytes
    question: bytes
    done: OnReply
    servers: list[str]
    since: float
    sent: float


class UpstreamResolver:
    """Created in the host's network namespace, attached to an event loop later."""

    def __init__(self, configuration: str = "/etc/resolv.conf") -> None:
        self._configuration, self._read_at, self._servers = configuration, 0.0, list[str]()
        # Several sockets, so that neither id nor port of a query can be guessed from the last one.
        self._plain = _sockets(socket.AF_INET, socket.SOCK_DGRAM)
        self._plain6 = _sockets(socket.AF_INET6, socket.SOCK_DGRAM)
        self._idle = _sockets(socket.AF_INET, socket.SOCK_STREAM)
        self._pending: dict[int, _PendingQuery] = {}
        self._of_client: collections.Counter[str] = collections.Counter()
        """The pending queries of each client."""
        self._over_tcp: collections.Counter[str] = collections.Counter()
        self._unanswered, self._suspended_until, self._probes = 0, 0.0, False
        self._loop: EventLoop | None = None

    def attach(self, loop: EventLoop) -> None:
        self._loop = loop
        for each in (*self._plain, *self._plain6):
            loop.watch(each.fileno(), READ, lambda sock=each: self._on_readable(sock))  # type: ignore[misc]

    def forward(self, data: bytes, client: str, done: OnReply) -> None:
        """Forwards a query with another id. The reply has the original id."""
        if not self.servers() or time.monotonic() < self._suspended_until or self._of_client[client] >= _MAX_PENDING_OF_CLIENT:
            done(b"")
            return
        if len(self._pending) >= _MAX_PENDING:
            self._fail_oldest(max(self._of_client, key=lambda each: self._of_client[each]))
        self._ask(data, client, done)

    def forward_over_tcp(self, data: bytes, client: str, done: OnReply) -> None:
        """Over TCP while an idle socket is left, for replies of any size."""
        servers = [each for each in self.servers() if ":" not in each]
        busy = not self._idle or self._over_tcp[client] >= _MAX_TCP_OF_CLIENT
        if self._loop is None or not servers or busy or time.monotonic() < self._suspended_until:
            self.forward(data, client, done)
            return

        def on_reply(reply: bytes) -> None:
            _subtract(self._over_tcp, client)
            done(reply)

        self._over_tcp[client] += 1
        TcpQuery(self._loop, self._idle, (servers[0], DNS_PORT), data, on_reply)

    def _ask(self, data: bytes, client: str, done: OnReply) -> None:
        number, now = _random_id(), time.monotonic()
        while number in self._pending:
            number = _random_id()
        query = _PendingQuery(client, data, dns_messages.question_section(data), done, list(self.servers()), now, 0.0)
        self._pending[number] = query
        self._of_client[client] += 1
        self._send(number, query, now)
        self._wait()

    def _take(self, number: int) -> _PendingQuery:
        query = self._pending.pop(number)
        _subtract(self._of_client, query.client)
        return query

    def _fail_oldest(self, client: str) -> None:
        """Of a client. Dictionaries keep the order in which queries were added."""
        self._take(next(number for number, query in self._pending.items() if query.client == client)).done(b"")

    def _probe(self) -> None:
        def on_reply(reply: bytes) -> None:
            self._probes = False
            if not reply:
                self._suspended_until = time.monotonic() + _SUSPEND_SECONDS

        if not self._probes:
            self._probes = True
            self._ask(dns_messages.build_query(0, "", dns_messages.NS), "", on_reply)

    def servers(self) -> list[str]:
        now = time.monotonic()
        if now - self._read_at > 1.0 or not self._read_at:
            self._read_at = now
            self._servers = nameservers(self._configuration)
        return self._servers

    def _wait(self) -> None:
        if self._loop is not None and self._pending:
            self._loop.call_later(_TICK, self._tick)

    def _send(self, number: int, query: _PendingQuery, now: float) -> None:
        while query.servers:
            server = query.servers.pop(0)
            query.sent = now
            sockets = self._plain6 if ":" in server else self._plain
            try:
                sockets[_random_id() % len(sockets)].sendto(struct.pack("!H", number) + query.data[2:], (server, DNS_PORT))
                return
            except (OSError, ZeroDivisionError):
                continue

    def _tick(self) -> None:
        now = time.monotonic()
        for number, query in list(self._pending.items()):
            if self._pending.get(number) is not query:
                continue  # it was failed in favour of another client
            if now - query.since >= TIMEOUT_SECONDS:
                self._unanswered += 1
                if self._unanswered >= _PROBE_AFTER:
                    self._probe()
                self._take(number).done(b"")
            elif query.servers and now - query.sent >= _NEXT_RESOLVER_SECONDS:
                self._send(number, query, now)
        self._wait()

    def _on_readable(self, sock: socket.socket) -> None:
        try:
            data, (host, port, *_) = sock.recvfrom(1 << 16)
        except OSError:
            return
        if len(data) < 12 or port != DNS_PORT or host.partition("%")[0] not in self._servers:
            return
        self._unanswered, self._suspended_until = 0, 0.0
        number = int.from_bytes(data[:2], "big")
        query = self._pending.get(number)
        if query is not None and dns_messages.question_section(data) == query.question:
            self._take(number).done(query.data[:2] + data[2:])


def _subtract(counts: collections.Counter[str], key: str) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _random_id() -> int:
    """A random 16-bit number. The module `secrets` would import OpenSSL."""
    return int.from_bytes(os.urandom(2), "big")


def nameservers(path: str) -> list[str]:
    """At most three, as in the C library."""
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
    """Empty on a machine without that address family."""
    try:
        sockets = [socket.socket(family, kind) for _ in range(count)]
    except OSError:
        return []
    for each in sockets:
        each.setblocking(False)
    return sockets
