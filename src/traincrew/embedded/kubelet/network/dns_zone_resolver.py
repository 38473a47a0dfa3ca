"""Replies of the DNS server from the zone of the cluster: names of pods and Services, reverse lookups, localhost."""

from __future__ import annotations

import socket
import struct
import time

from traincrew.embedded.kubelet.network import addresses, dns_messages
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.dns_messages import DnsQuery, DnsReply, ResourceRecord
from traincrew.embedded.kubelet.network.dns_zone import Zone, ZoneAnswer, ZoneOutcome

TTL = 1
"""Seconds. The pods of a Service may change at any time."""
_KINDS = {
    dns_messages.A: "A",
    dns_messages.AAAA: "AAAA",
    dns_messages.CNAME: "CNAME",
    dns_messages.SRV: "SRV",
    dns_messages.TXT: "TXT",
}
_NUMBERS = {name: number for number, name in _KINDS.items()}
_REVERSE = ".in-addr.arpa"


class ZoneResolver:
    def __init__(self, subnet: Subnet) -> None:
        self._zone, self._subnet = Zone(), subnet
        self._record_cache: dict[tuple[str, str], tuple[list[ResourceRecord], list[ResourceRecord]]] = {}
        self._turn = 0

    @property
    def zone(self) -> Zone:
        return self._zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        self._zone = zone
        self._record_cache.clear()

    def resolve(self, query: DnsQuery) -> DnsReply | None:
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
