"""rtnetlink requests for links, addresses and routes.

Written by hand: a netlink library would stay in the memory of the netns daemon for the life of the cluster.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import socket
import struct
from collections.abc import Iterator

NETLINK_ROUTE, NETLINK_NETFILTER = 0, 12
_ACK, _REQUEST, _DUMP, _CREATE, _EXCL = 4, 1, 0x300, 0x400, 0x200
_ERROR, _DONE = 2, 3
_SOL_NETLINK, _CAP_ACK, _EXT_ACK = 270, 10, 11
NEWLINK, DELLINK, SETLINK, NEWADDR, NEWROUTE, GETROUTE, GETLINK = 16, 17, 19, 20, 24, 26, 18
_UP = 1
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_NET_NS_FD, _IFLA_GROUP = 1, 3, 4, 10, 18, 28, 27
_KIND, _DATA, _PEER = 1, 2, 1
_IFLA_AF_SPEC, _ADDRESS_MODE = 26, 8
_NESTED = 0x8000
NEW = _CREATE | _EXCL


@dataclasses.dataclass(frozen=True)
class NetlinkRequest:
    kind: int
    payload: bytes
    flags: int = 0
    what: str = ""
    """Completes the error message: `cannot …`."""
    ignored: tuple[int, ...] = ()
    """Error numbers that mean that nothing needs to be done."""


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def nested(kind: int, *parts: bytes) -> bytes:
    return attribute(kind | _NESTED, b"".join(parts))


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        if length < 4:
            return
        yield kind & 0x3FFF, data[position + 4 : position + length]
        position += (length + 3) & ~3


class Netlink:
    """A netlink socket of the network namespace in which it was created."""

    def __init__(self, protocol: int = NETLINK_ROUTE) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        try:
            self._socket.setsockopt(_SOL_NETLINK, _CAP_ACK, 1)
            self._socket.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
            self._socket.bind((0, 0))
        except BaseException:
            self._socket.close()
            raise
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, *requests: NetlinkRequest) -> None:
        """Sends requests in one message. All are executed; the first error is raised."""
        first = self._sequence + 1
        packed = []
        for request in requests:
            self._sequence += 1
            packed.append(message(request, self._sequence, _REQUEST | _ACK | request.flags))
        self._socket.send(b"".join(packed))
        self._settle({first + index: request for index, request in enumerate(requests)})

    def batch(self, raw: bytes, waiting: dict[int, NetlinkRequest]) -> None:
        """Sends messages that the caller encoded. Those in `waiting` are acknowledged."""
        self._socket.send(raw)
        self._settle(waiting)

    def _settle(self, waiting: dict[int, NetlinkRequest]) -> None:
        error: OSError | None = None
        while waiting:
            for kind, sequence, payload in _messages(self._socket.recv(1 << 16)):
                request = waiting.pop(sequence, None) if kind == _ERROR else None
                if request is not None:
                    error = error or _error(request, payload)
        if error is not None:
            raise error

    def dump(self, request: NetlinkRequest) -> list[bytes]:
        self._sequence += 1
        self._socket.send(message(request, self._sequence, _REQUEST | _DUMP))
        payloads: list[bytes] = []
        while True:
            for kind, sequence, payload in _messages(self._socket.recv(1 << 18)):
                if sequence != self._sequence:
                    continue
                if kind == _ERROR and (error := _error(request, payload)):
                    raise error
                if kind in (_DONE, _ERROR):
                    return payloads
                payloads.append(payload)


def message(request: NetlinkRequest, sequence: int, flags: int) -> bytes:
    return struct.pack("=IHHII", len(request.payload) + 16, request.kind, flags, sequence, 0) + request.payload


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    position = 0
    while position + 16 <= len(data):
        length, kind, _, sequence, _ = struct.unpack_from("=IHHII", data, position)
        if length < 16:
            return
        yield kind, sequence, data[position + 16 : position + length]
        position += (length + 3) & ~3


def _error(request: NetlinkRequest, payload: bytes) -> OSError | None:
    (number,) = struct.unpack_from("=i", payload)
    if number == 0 or -number in request.ignored:
        return None
    said = next((value.rstrip(b"\0").decode() for kind, value in attributes(payload[20:]) if kind == 1), "")
    reason = os.strerror(-number) + (f" ({said})" if said else "")
    return OSError(-number, f"cannot {request.what}: {reason}")


def _link(index: int = 0, flags: int = 0) -> bytes:
    return struct.pack("=BxHiII", 0, 0, index, flags, flags)


def _name(name: str) -> bytes:
    return attribute(_IFLA_IFNAME, name.encode() + b"\0")


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def bridge(name: str, mac: str, mtu: int) -> NetlinkRequest:
    """Has its own MAC address: otherwise it takes the lowest of its ports, which changes as pods come and go."""
    parts = (_name(name), attribute(_IFLA_ADDRESS, mac_bytes(mac)), _number(_IFLA_MTU, mtu))
    info = nested(_IFLA_LINKINFO, attribute(_KIND, b"bridge"))
    return NetlinkRequest(NEWLINK, _link() + b"".join(parts) + info, NEW, f"create bridge {name}")


@dataclasses.dataclass(frozen=True)
class VethEnd:
    """One end of a veth pair. namespace: descriptor of its network namespace; None: the caller's."""

    name: str
    mac: str = ""
    mtu: int = 1500
    master: int = 0
    namespace: int | None = None

    def packed(self) -> bytes:
        found = _link() + _name(self.name) + _number(_IFLA_MTU, self.mtu)
        found += attribute(_IFLA_ADDRESS, mac_bytes(self.mac)) if self.mac else b""
        found += _number(_IFLA_MASTER, self.master) if self.master else b""
        return found + (_number(_IFLA_NET_NS_FD, self.namespace) if self.namespace is not None else b"")


def veth(near: VethEnd, far: VethEnd) -> NetlinkRequest:
    info = nested(_IFLA_LINKINFO, attribute(_KIND, b"veth"), nested(_DATA, attribute(_PEER | _NESTED, far.packed())))
    return NetlinkRequest(NEWLINK, near.packed() + info, NEW, f"create veth pair {near.name} and {far.name}")


def bring_up(name: str) -> tuple[NetlinkRequest, NetlinkRequest]:
    """Without a link-local IPv6 address: announcements of hundreds of pods would drown other packets."""
    mode = nested(_IFLA_AF_SPEC, nested(socket.AF_INET6, attribute(_ADDRESS_MODE, b"\1")))
    quiet = NetlinkRequest(
        SETLINK, _link() + _name(name) + mode, 0, f"configure IPv6 of link {name}", (errno.EAFNOSUPPORT, errno.EOPNOTSUPP)
    )
    return quiet, NetlinkRequest(SETLINK, _link(flags=_UP) + _name(name), 0, f"set link {name} up")


def delete(name: str, *ignored: int) -> NetlinkRequest:
    return NetlinkRequest(DELLINK, _link() + _name(name), 0, f"delete link {name}", ignored)


def set_group(name: str, group: int, *ignored: int) -> NetlinkRequest:
    return NetlinkRequest(SETLINK, _link() + _name(name) + _number(_IFLA_GROUP, group), 0, f"set group of link {name}", ignored)


def delete_group(group: int, *ignored: int) -> NetlinkRequest:
    """Deletes all links of a group. The kernel synchronizes once instead of once for each link."""
    return NetlinkRequest(DELLINK, _link() + _number(_IFLA_GROUP, group), 0, f"delete links of group {group}", ignored)


def address(index: int, ip: str, prefix: int, *ignored: int) -> NetlinkRequest:
    packed = socket.inet_aton(ip)
    broadcast = b""
    if prefix < 31:
        mask = (1 << (32 - prefix)) - 1
        broadcast = attribute(4, (int.from_bytes(packed, "big") | mask).to_bytes(4, "big"))
    body = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index)
    return NetlinkRequest(
        NEWADDR, body + attribute(2, packed) + attribute(1, packed) + broadcast, NEW, f"add address {ip}/{prefix}", ignored
    )


def default_route(gateway: str, index: int) -> NetlinkRequest:
    return route("0.0.0.0", 0, gateway, index)  # noqa: S104 (nothing is bound here)


def route(network: str, prefix: int, gateway: str, index: int) -> NetlinkRequest:
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, prefix, 0, 0, 254, 3, 0, 1, 0)
    parts = attribute(1, socket.inet_aton(network)) if prefix else b""
    parts += attribute(5, socket.inet_aton(gateway)) + _number(4, index)
    return NetlinkRequest(NEWROUTE, body + parts, NEW, f"add route {network}/{prefix} via {gateway}")


@dataclasses.dataclass(frozen=True)
class Route:
    network: int
    prefix: int
    index: int


def routes(link: Netlink) -> list[Route]:
    """IPv4 routes of all tables, without local routes."""
    request = NetlinkRequest(GETROUTE, struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0), what="list routes")
    result = []
    for payload in link.dump(request):
        prefix, kind = payload[1], payload[7]
        known = dict(attributes(payload[12:]))
        if kind == 1:
            index = struct.unpack("=I", known[4])[0] if 4 in known else 0
            result.append(Route(int.from_bytes(known.get(1, bytes(4)), "big"), prefix, index))
    return result


def mtu(link: Netlink, index: int) -> int:
    """0: the link does not exist."""
    for payload in link.dump(NetlinkRequest(GETLINK, _link(), what="list links")):
        if struct.unpack_from("=i", payload, 4)[0] == index:
            value = dict(attributes(payload[16:])).get(_IFLA_MTU)
            return int(struct.unpack("=I", value)[0]) if value else 0
    return 0
