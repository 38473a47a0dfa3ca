"""The DNS server of the pods, over UDP and TCP, at the gateway address."""

from __future__ import annotations

import socket
import struct
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

from traincrew.embedded.kubelet.network import dns_messages
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.client_sockets import datagram_sockets
from traincrew.embedded.kubelet.network.connection_limits import ConnectionLimits
from traincrew.embedded.kubelet.network.dns_messages import DnsQuery, DnsReply, MalformedMessage
from traincrew.embedded.kubelet.network.dns_upstream import UpstreamResolver
from traincrew.embedded.kubelet.network.dns_zone import Zone
from traincrew.embedded.kubelet.network.dns_zone_resolver import ZoneResolver
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop

PORT = 53
_SOCKETS, _BUFFER, _BATCH = 16, 1 << 19, 16
"""Sockets for queries over UDP, bytes of the buffer of each, and queries that are read from one before the next has its turn."""
_MAX_MESSAGE = 65535
_MAX_CONNECTIONS, _MAX_CONNECTIONS_OF_POD, _IDLE = 200, 20, 10.0


class DnsClient(NamedTuple):
    address: str
    send: Callable[[bytes], None]


class DnsServer:
    def __init__(self, loop: EventLoop, subnet: Subnet, upstream: UpstreamResolver) -> None:
        self._local = ZoneResolver(subnet)
        self._loop, self._upstream = loop, upstream
        self._connections: set[_Connection] = set()
        self._limits: ConnectionLimits[_Connection] = ConnectionLimits(_MAX_CONNECTIONS, _MAX_CONNECTIONS_OF_POD)
        upstream.attach(loop)
        self._plain = datagram_sockets(subnet.gateway, PORT, _SOCKETS, _BUFFER)
        for each in self._plain:
            loop.watch(each.fileno(), READ, lambda sock=each: self._datagrams(sock))  # type: ignore[misc]
        self._listener = socket.create_server((subnet.gateway, PORT), backlog=128)
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), READ, self._accept)

    @property
    def zone(self) -> Zone:
        return self._local.zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        self._local.zone = zone

    def _datagrams(self, sock: socket.socket) -> None:
        """Reads a few queries only, so that other handlers get their turn."""
        for _ in range(_BATCH):
            try:
                data, peer = sock.recvfrom(_MAX_MESSAGE)
            except OSError:
                return
            client = DnsClient(peer[0], lambda answer, peer=peer: self._reply(sock, answer, peer))  # type: ignore[misc]
            self.resolve(data, client, False)

    def _reply(self, sock: socket.socket, answer: bytes, peer: tuple[str, int]) -> None:
        try:
            if answer:
                sock.sendto(answer, peer)
        except OSError:
            # The client repeats the query, or is gone.
            return

    def _accept(self) -> None:
        try:
            peer, (pod, _) = self._listener.accept()
        except OSError:
            return
        self._close_idle()
        connection = _Connection(self._loop, peer, self, pod)
        self._connections.add(connection)
        if not self._limits.add(pod, connection):
            connection.abort()

    def _close_idle(self) -> None:
        late = time.monotonic() - _IDLE
        for each in [each for each in self._connections if each.last < late]:
            each.abort()

    def forget(self, connection: _Connection) -> None:
        """A connection that was closed."""
        self._connections.discard(connection)
        self._limits.remove(connection.pod, connection)

    def resolve(self, data: bytes, client: DnsClient, whole: bool) -> None:
        """Sends one reply, at once or within a second. whole: over TCP, where a reply of any size fits."""
        try:
            self._resolve(data, client, whole)
        except MalformedMessage:
            client.send(dns_messages.error_response(data, dns_messages.FORMERR))
        except Exception:
            traceback.print_exc()
            client.send(dns_messages.error_response(data, dns_messages.SERVFAIL))

    def _resolve(self, data: bytes, client: DnsClient, whole: bool) -> None:
        query = dns_messages.parse_query(data)
        limit = _MAX_MESSAGE if whole else query.room
        reply = _unsupported(query) or self._local.resolve(query)
        if reply is None:
            code = dns_messages.SERVFAIL if self._upstream.servers() else dns_messages.NXDOMAIN
            failed = dns_messages.encode_reply(query, DnsReply(code, authoritative=False), limit)
            ask = self._upstream.forward_over_tcp if whole else self._upstream.forward
            ask(data, client.address, lambda answer: client.send(answer or failed))
        elif reply.answers and reply.answers[-1].kind == dns_messages.CNAME and query.kind in (dns_messages.A, dns_messages.AAAA):
            self._follow(query, reply, limit, client)
        else:
            client.send(dns_messages.encode_reply(query, reply, limit))

    def _follow(self, query: DnsQuery, reply: DnsReply, limit: int, client: DnsClient) -> None:
        """Resolves a CNAME that points outside of the zone: the reply must contain its addresses."""
        asked = (
            struct.pack("!6H", 0, 0x100, 1, 0, 0, 0) + reply.answers[-1].data + struct.pack("!HH", query.kind, dns_messages.IN)
        )

        def on_reply(answer: bytes) -> None:
            try:
                response = dns_messages.parse_response(answer)
                whole = DnsReply(response.code, [*reply.answers, *response.answers])
            except MalformedMessage:
                whole = DnsReply(dns_messages.SERVFAIL, reply.answers)
            client.send(dns_messages.encode_reply(query, whole, limit))

        self._upstream.forward(asked, client.address, on_reply)


def _unsupported(query: DnsQuery) -> DnsReply | None:
    if query.opcode != 0:
        return DnsReply(dns_messages.NOTIMP, authoritative=False)
    if query.edns_version:
        return DnsReply(dns_messages.BADVERS, authoritative=False)
    return DnsReply(dns_messages.REFUSED, authoritative=False) if query.klass != dns_messages.IN else None


class _Connection:
    """Queries over TCP, each with a length prefix."""

    def __init__(self, loop: EventLoop, peer: socket.socket, server: DnsServer, pod: str) -> None:
        self._loop, self._peer, self._server, self.pod = loop, peer, server, pod
        self._in = bytearray()
        self.last, self.closed = time.monotonic(), False
        peer.setblocking(False)
        loop.watch(peer.fileno(), READ, self._read)

    def abort(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.unwatch(self._peer.fileno())
            self._peer.close()
            self._server.forget(self)

    def _read(self) -> None:
        try:
            data = self._peer.recv(_MAX_MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.abort()
            return
        self.last = time.monotonic()
        self._in += data
        while not self.closed and len(self._in) >= 2 and len(self._in) >= 2 + (length := int.from_bytes(self._in[:2], "big")):
            question, self._in = bytes(self._in[2 : 2 + length]), self._in[2 + length :]
            self._server.resolve(question, DnsClient(self.pod, self._send), True)

    def _send(self, answer: bytes) -> None:
        """A client that does not read its replies is disconnected."""
        packed = struct.pack("!H", len(answer)) + answer
        try:
            if self.closed or (answer and self._peer.send(packed) == len(packed)):
                return
        except OSError:
            pass
        self.abort()
