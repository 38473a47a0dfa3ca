"""Masquerading with nf_tables through netlink, in a separate table. No tool is required."""

from __future__ import annotations

import errno
import struct

from traincrew.embedded.kubelet.network import netlink
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.netlink import NetlinkRequest, attribute, nested

_SUBSYSTEM = 10
_NEWTABLE, _GETTABLE, _DELTABLE, _NEWCHAIN, _NEWRULE = 0, 1, 2, 3, 6
_BEGIN, _END = 16, 17
_REQUEST, _ACK, _CREATE, _APPEND = 1, 4, 0x400, 0x800
_IPV4, _POSTROUTING, _SOURCE_NAT = 2, 4, 100
_EQUAL, _UNEQUAL = 0, 1
_NETWORK_HEADER, _SOURCE_OFFSET = 1, 12
_META_OIFNAME = 7
_REGISTER = 1


def masquerade(table: str, subnet: Subnet, link: str, *, by_link: bool) -> None:
    """Masquerades packets from the subnet that leave by that link (by_link), or by any whose name does not begin like that.

    Works in the network namespace of the caller. Replaces a table of that name.
    """
    name = attribute(1, table.encode() + b"\0")
    hook = nested(4, _number(1, _POSTROUTING), _number(2, _SOURCE_NAT))
    chain = name + attribute(3, b"postrouting\0") + hook + attribute(7, b"nat\0")
    mask = ((1 << subnet.prefix) - 1) << (32 - subnet.prefix)
    expressions = (
        _expression("payload", _number(1, _REGISTER), _number(2, _NETWORK_HEADER), _number(3, _SOURCE_OFFSET), _number(4, 4)),
        _expression("bitwise", _number(1, _REGISTER), _number(2, _REGISTER), _number(3, 4), _value(4, mask), _value(5, 0)),
        _compare(_EQUAL, subnet.network.to_bytes(4, "big")),
        _expression("meta", _number(1, _REGISTER), _number(2, _META_OIFNAME)),
        _compare(_EQUAL, link.encode().ljust(16, b"\0")) if by_link else _compare(_UNEQUAL, link.encode()),
        _expression("masq"),
    )
    rule = name + attribute(2, b"postrouting\0") + nested(4, *expressions)
    remove(table)
    _run_batch(
        ("create an nf_tables table", _NEWTABLE, name, _CREATE),
        ("create an nf_tables chain", _NEWCHAIN, chain, _CREATE),
        ("masquerade with nf_tables", _NEWRULE, rule, _CREATE | _APPEND),
    )


def remove(table: str) -> None:
    try:
        _run_batch(("delete an nf_tables table", _DELTABLE, attribute(1, table.encode() + b"\0"), 0))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


def tables() -> list[str]:
    """The names of the tables for IPv4. Raises OSError."""
    request = NetlinkRequest(_SUBSYSTEM << 8 | _GETTABLE, struct.pack("!BBH", _IPV4, 0, 0), what="list the nf_tables tables")
    with netlink.Netlink(netlink.NETLINK_NETFILTER) as link:
        found = [dict(netlink.attributes(payload[4:])) for payload in link.dump(request)]
    return sorted(each[1].rstrip(b"\0").decode() for each in found if 1 in each)


def _run_batch(*operations: tuple[str, int, bytes, int]) -> None:
    """Runs the operations as one batch: all or none."""
    head = struct.pack("!BBH", 0, 0, _SUBSYSTEM)
    raw = netlink.message(NetlinkRequest(_BEGIN, head), 0, _REQUEST)
    waiting = {}
    for number, (what, kind, payload, flags) in enumerate(operations, 1):
        request = NetlinkRequest(_SUBSYSTEM << 8 | kind, struct.pack("!BBH", _IPV4, 0, 0) + payload, what=what)
        raw += netlink.message(request, number, _REQUEST | _ACK | flags)
        waiting[number] = request
    raw += netlink.message(NetlinkRequest(_END, head), len(operations) + 1, _REQUEST)
    with netlink.Netlink(netlink.NETLINK_NETFILTER) as link:
        link.batch(raw, waiting)


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!I", value))


def _value(kind: int, value: int) -> bytes:
    return nested(kind, attribute(1, value.to_bytes(4, "big")))


def _compare(how: int, value: bytes) -> bytes:
    return _expression("cmp", _number(1, _REGISTER), _number(2, how), nested(3, attribute(1, value)))


def _expression(name: str, *parts: bytes) -> bytes:
    return nested(1, attribute(1, name.encode() + b"\0"), nested(2, *parts))
