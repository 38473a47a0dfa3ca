"""rtnetlink: requests for links, addresses and routes."""

from __future__ import annotations

import dataclasses
import errno
import socket
import struct

from traincrew.embedded.kubelet.network.netlink import NESTED, NEW, Netlink, NetlinkRequest, attribute, attributes, nested

NEWLINK, DELLINK, SETLINK, NEWADDR, NEWROUTE, GETROUTE, GETLINK = 16, 17, 19, 20, 24, 26, 18
_UP = 1
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_NET_NS_FD, _IFLA_GROUP = 1, 3, 4, 10, 18, 28, 27
_KIND, _DATA, _PEER = 1, 2, 1
_IFLA_AF_SPEC, _ADDRESS_MODE = 26, 8


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
    info = nested(_IFLA_LINKINFO, attribute(_KIND, b"veth"), nested(_DATA, attribute(_PEER | NESTED, far.packed())))
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
class NetlinkRoute:
    network: int
    prefix: int
    index: int


def routes(link: Netlink) -> list[NetlinkRoute]:
    """IPv4 routes of all tables, without local routes."""
    request = NetlinkRequest(GETROUTE, struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0), what="list routes")
    result = []
    for payload in link.dump(request):
        prefix, kind = payload[1], payload[7]
        known = dict(attributes(payload[12:]))
        if kind == 1:
            index = struct.unpack("=I", known[4])[0] if 4 in known else 0
            result.append(NetlinkRoute(int.from_bytes(known.get(1, bytes(4)), "big"), prefix, index))
    return result


def mtu(link: Netlink, index: int) -> int:
    """0: the link does not exist."""
    for payload in link.dump(NetlinkRequest(GETLINK, _link(), what="list links")):
        if struct.unpack_from("=i", payload, 4)[0] == index:
            value = dict(attributes(payload[16:])).get(_IFLA_MTU)
            return int(struct.unpack("=I", value)[0]) if value else 0
    return 0
