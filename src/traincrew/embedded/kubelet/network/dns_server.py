"""The DNS server of the pods, over UDP and TCP, at the gateway address."""

from __future__ import annotations

import socket
import struct
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

from traincrew.embedded.kubelet.network import addresses, dns_messages
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.client_sockets import datagram_sockets
from traincrew.embedded.kubelet.network.connection_limits import ConnectionLimits
from traincrew.embedded.kubelet.network.dns_messages import DnsQuery, DnsReply, MalformedMessage, ResourceRecord
from traincrew.embedded.kubelet.network.dns_upstream import UpstreamResolver
from traincrew.embedded.kubelet.network.dns_zone import Zone, ZoneAnswer, ZoneOutcome
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop

TTL = 1
"""Seconds. The pods of a Service may change at any time."""
PORT = 53
_SOCKETS, _BUFFER, _BATCH = 16, 1 << 19, 16
"""Sockets for queries over UDP, bytes of the buffer of each, and queries that are read from one before the next has its turn."""
_MAX_MESSAGE = 65535
_MAX_CONNECTIONS, _MAX_CONNECTIONS_OF_POD, _IDLE = 200, 20, 10.0
_KINDS = {
    dns_messages.A: "A",
    dns_messages.AAAA: "AAAA",
    dns_messages.CNAME: "CNAME",
    dns_messages.SRV: "SRV",
    dns_messages.TXT: "TXT",
}
_NUMBERS = {name: number for number, name in _KINDS.items()}
_REVERSE = ".in-addr.arpa"


class Client(NamedTuple):
    address: str
    send: Callable[[bytes], None]


class DnsServer:
    def __init__(self, loop: EventLoop, subnet: Subnet, upstream: UpstreamResolver) -> None:
        self._zone = Zone()
        self._record_cache: dict[tuple[str, str], tuple[list[ResourceRecord], list[ResourceRecord]]] = {}
        self._loop, self._subnet, self._upstream = loop, subnet, upstream
        self._turn = 0
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
        return self._zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        self._zone = zone
        self._record_cache.clear()

    def _datagrams(self, sock: socket.socket) -> None:
        """Reads a few queries only, so that other handlers get their turn."""
        for _ in range(_BATCH):
            try:
                data, peer = sock.recvfrom(_MAX_MESSAGE)
            except OSError:
                return
            client = Client(peer[0], lambda answer, peer=peer: self._reply(sock, answer, peer))  # type: ignore[misc]
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

    def resolve(self, data: bytes, client: Client, whole: bool) -> None:
        """Sends one reply, at once or within a second. whole: over TCP, where a reply of any size fits."""
        try:
            self._resolve(data, client, whole)
        except MalformedMessage:
            client.send(dns_messages.error_response(data, dns_messages.FORMERR))
        except Exception:
            traceback.print_exc()
            client.send(dns_messages.error_response(data, dns_messages.SERVFAIL))

    def _resolve(self, data: bytes, client: Client, whole: bool) -> None:
        query = dns_messages.parse_query(data)
        limit = _MAX_MESSAGE if whole else query.room
        reply = _unsupported(query) or self._local(query)
        if reply is None:
            code = dns_messages.SERVFAIL if self._upstream.servers() else dns_messages.NXDOMAIN
            failed = dns_messages.encode_reply(query, DnsReply(code, authoritative=False), limit)
            ask = self._upstream.forward_over_tcp if whole else self._upstream.forward
            ask(data, client.address, lambda answer: client.send(answer or failed))
        elif reply.answers and reply.answers[-1].kind == dns_messages.CNAME and query.kind in (dns_messages.A, dns_messages.AAAA):
            self._follow(query, reply, limit, client)
        else:
            client.send(dns_messages.encode_reply(query, reply, limit))

    def _follow(self, query: DnsQuery, reply: DnsReply, limit: int, client: Client) -> None:
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

    def _local(self, query: DnsQuery) -> DnsReply | None:
        """The reply from the zone; None: forward the query."""
        name = query.name
        if name == "localhost" or name.endswith(".localhost"):
            loopback = {dns_messages.A: bytes((127, 0, 0, 1)), dns_messages.AAAA: bytes(15) + b"\1"}.get(query.kind)
            return (
                DnsReply(answers=[ResourceRecord(name, query.kind, TTL, loopback)])
                if loopback
                else self._negative(dns_messages.NOERROR)
            )
        if name.endswith(_REVERSE):
            return self._reverse(query)
        if name.rpartition(".")[2] == "svc" or ("." not in name and name and query.kind in (dns_messages.A, dns_messages.AAAA)):
            # An incomplete name of the cluster. No upstream resolver has such names.
            return DnsReply(dns_messages.NXDOMAIN)
        if name == self.zone.domain and query.kind in (dns_messages.SOA, dns_messages.NS):
            return DnsReply(answers=[self._authority() if query.kind == dns_messages.SOA else self._server()])
        return self._from_zone(self.zone.answer(name, _KINDS.get(query.kind, "")))

    def _from_zone(self, answer: ZoneAnswer) -> DnsReply | None:
        if answer.outcome is ZoneOutcome.ELSEWHERE:
            return None
        if answer.outcome is not ZoneOutcome.FOUND:
            return self._negative(dns_messages.NXDOMAIN if answer.outcome is ZoneOutcome.UNKNOWN else dns_messages.NOERROR)
        key = (answer.records[0][0], answer.records[-1][1])
        if (records := self._record_cache.get(key)) is None:
            # Each of hundreds of pods of a Service queries its name.
            weight = max(1, 100 // len(answer.records))
            records = [_record(each, weight) for each in answer.records], [_record(each, 0) for each in answer.additional]
            self._record_cache[key] = records
        self._turn += 1
        start = self._turn % len(records[0]) if records[0][0].kind != dns_messages.CNAME else 0
        return DnsReply(answers=records[0][start:] + records[0][:start], additional=records[1])

    def _reverse(self, query: DnsQuery) -> DnsReply | None:
        address = ".".join(reversed(query.name.removesuffix(_REVERSE).split(".")))
        try:
            inside = address in self._subnet or address.startswith("127.")
        except ValueError:
            return None
        names = ["localhost"] if address.startswith("127.") else self.zone.pointers.get(address, [])
        if names and query.kind == dns_messages.PTR:
            return DnsReply(
                answers=[ResourceRecord(query.name, dns_messages.PTR, TTL, dns_messages.encode_name(each)) for each in names]
            )
        if names or inside:
            # Gloo looks up the name of every peer: an address of the subnet without a name is answered at once.
            return self._negative(dns_messages.NOERROR if names else dns_messages.NXDOMAIN)
        return None

    def _negative(self, code: int) -> DnsReply:
        return DnsReply(code, authority=[self._authority()])

    def _authority(self) -> ResourceRecord:
        domain = self.zone.domain
        numbers = struct.pack("!5I", int(time.time()), 7200, 1800, 86400, TTL)
        return ResourceRecord(
            domain,
            dns_messages.SOA,
            TTL,
            dns_messages.encode_name(f"ns.dns.{domain}") + dns_messages.encode_name(f"hostmaster.{domain}") + numbers,
        )

    def _server(self) -> ResourceRecord:
        return ResourceRecord(self.zone.domain, dns_messages.NS, TTL, dns_messages.encode_name(f"ns.dns.{self.zone.domain}"))


def _unsupported(query: DnsQuery) -> DnsReply | None:
    if query.opcode != 0:
        return DnsReply(dns_messages.NOTIMP, authoritative=False)
    if query.edns_version:
        return DnsReply(dns_messages.BADVERS, authoritative=False)
    return DnsReply(dns_messages.REFUSED, authoritative=False) if query.klass != dns_messages.IN else None


def _record(entry: tuple[str, str, object], weight: int) -> ResourceRecord:
    name, kind, value = entry
    if kind == "A":
        data = addresses.to_int(str(value)).to_bytes(4, "big")
    elif kind == "AAAA":
        data = socket.inet_pton(socket.AF_INET6, str(value))
    elif kind == "TXT":
        data = bytes((len(str(value)),)) + str(value).encode()
    elif kind == "SRV" and isinstance(value, list):
        data = struct.pack("!HHH", 0, weight, value[0]) + dns_messages.encode_name(value[1])
    else:
        data = dns_messages.encode_name(str(value))
    return ResourceRecord(name, _NUMBERS[kind], TTL, data)


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
            self._server.resolve(question, Client(self.pod, self._send), True)

    def _send(self, answer: bytes) -> None:
        """A client that does not read its replies is disconnected."""
        packed = struct.pack("!H", len(answer)) + answer
        try:
            if self.closed or (answer and self._peer.send(packed) == len(packed)):
                return
        except OSError:
            pass
        self.abort()
