"""Egress of the cluster's network: a veth pair to the host with masquerading, or a userspace router.

Changes on the host: one link, one route, one nf_tables table (or iptables rules with a comment), net.ipv4.ip_forward. A record of
the changes is kept, so that they can be undone after the netns daemon was killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket

from traincrew.embedded.kubelet.network import firewall, netlink, netlink_routing, nftables, userspace_routers
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.netns_state import Record

UPLINK = "out0"
_FORWARD = "/proc/sys/net/ipv4/ip_forward"
_LINK_PREFIX = "crew"
"""Of the links of all nodes of this machine. Packets to their pods keep their addresses, as in every pod network."""
_HOST_LINK = re.compile(f"{_LINK_PREFIX}[0-9a-f]+")
_MARK = "traincrew-"
_NONE = "pods have no egress: "


def set_up_host_side(isolation: str, subnet: Subnet, pid: int, identity: str, mtu: int) -> Record:
    """Called in the host's network namespace. pid: the netns daemon. `why` in the record: empty, or the reason for no egress."""
    if isolation != "root":
        return _with_reason(userspace_routers.start(pid, UPLINK))
    done: Record = {"link": link_name(identity), "mark": f"{_MARK}{identity}", "subnet": str(subnet)}
    try:
        _create_uplink(done["link"], subnet, pid, mtu)
        done["forwarding"] = _enable_forwarding()
        if done["forwarding"]:
            _mark_forwarding()
        done["firewall"] = firewall.allow_egress(done["mark"], subnet, done["link"], _LINK_PREFIX)
        return {**done, "how": "veth", "why": ""}
    except OSError as error:
        tear_down(done)
        return _with_reason(userspace_routers.start(pid, UPLINK), error.strerror or str(error))


def _with_reason(record: Record, before: str = "") -> Record:
    why = "; ".join(each for each in (before, record["why"]) if each)
    return {**record, "why": _NONE + why if record["why"] else ""}


def set_up_cluster_side(done: Record, subnet: Subnet) -> Record:
    """Called in the cluster's network.

    A new network namespace takes over the host's net.ipv4.ip_forward. The cluster's own is set to 1 in any case: a router that
    forwards answers "unreachable" where it has no route, one that does not forward drops the packet and the pod waits.
    """
    if done["why"]:
        with contextlib.suppress(OSError):
            _enable_forwarding()
        return done
    try:
        if done["how"] == "veth":
            with netlink.Netlink() as link:
                index = socket.if_nametoindex(UPLINK)
                link.ask(*netlink_routing.bring_up(UPLINK), netlink_routing.address(index, subnet.cluster_end, 30))
                link.ask(netlink_routing.default_route(subnet.host_end, index))
        else:
            firewall.masquerade_on(UPLINK, subnet)
        _enable_forwarding()
    except OSError as error:
        return {**done, "why": _NONE + (error.strerror or str(error))}
    return done


def tear_down(done: Record) -> None:
    """Called in the host's network namespace. Idempotent."""
    if "process" in done:
        userspace_routers.stop(done["process"])
    if "link" not in done:
        return
    with contextlib.suppress(OSError):
        firewall.revoke_egress(str(done["mark"]), str(done.get("firewall", "")))
    with contextlib.suppress(OSError), netlink.Netlink() as link:
        link.ask(netlink_routing.delete(str(done["link"]), errno.ENODEV))
    if not _other_clusters():
        _restore_forwarding(bool(done.get("forwarding")))


def link_name(identity: str) -> str:
    """The link of a cluster on the host. identity: of the cluster's network."""
    return f"{_LINK_PREFIX}{identity}"


def identities_on_host() -> list[str]:
    """Of the clusters that have a link or an nf_tables table in this network namespace."""
    links = [name.removeprefix(link_name("")) for _, name in socket.if_nameindex() if _HOST_LINK.fullmatch(name)]
    try:
        tables = nftables.tables()
    except OSError:  # the kernel has no nf_tables
        tables = []
    return sorted({*links, *(name.removeprefix(_MARK) for name in tables if name.startswith(_MARK))})


def remove_by_identity(identity: str) -> None:
    """Removes the link, the firewall rules and the setting of a cluster whose record is lost. Raises OSError."""
    with contextlib.suppress(OSError):
        nftables.remove(f"{_MARK}{identity}")
    firewall.revoke_all(f"{_MARK}{identity}")
    with netlink.Netlink() as link:
        link.ask(netlink_routing.delete(link_name(identity), errno.ENODEV))
    if not _other_clusters():
        _restore_forwarding(False)


def _other_clusters() -> bool:
    """Another cluster of this machine still has its link and needs net.ipv4.ip_forward."""
    return any(_HOST_LINK.fullmatch(name) for _, name in socket.if_nameindex())


def _marker() -> str:
    """The file that says that a cluster has set the host's net.ipv4.ip_forward. The last cluster that stops sets it back."""
    return f"/run/traincrew-ip-forward.{os.stat('/proc/self/ns/net').st_ino}"


def _mark_forwarding() -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(_marker(), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _restore_forwarding(set_by_this_cluster: bool) -> None:
    with contextlib.suppress(OSError):
        if set_by_this_cluster or os.path.exists(_marker()):
            with open(_FORWARD, "w") as file:
                file.write("0")
            os.unlink(_marker())


def _create_uplink(name: str, subnet: Subnet, pid: int, mtu: int) -> None:
    space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        with netlink.Netlink() as link:
            link.ask(netlink_routing.delete(name, errno.ENODEV))
            link.ask(
                netlink_routing.veth(
                    netlink_routing.VethEnd(name, mtu=mtu), netlink_routing.VethEnd(UPLINK, mtu=mtu, namespace=space)
                ),
                *netlink_routing.bring_up(name),
            )
            index = socket.if_nametoindex(name)
            link.ask(netlink_routing.address(index, subnet.host_end, 30))
            network = str(subnet).partition("/")[0]
            link.ask(netlink_routing.route(network, subnet.prefix, subnet.cluster_end, index))
    finally:
        os.close(space)


def _enable_forwarding() -> bool:
    """Enables forwarding. Returns whether it was disabled before."""
    with open(_FORWARD) as file:
        if file.read().strip() == "1":
            return False
    try:
        with open(_FORWARD, "w") as file:
            file.write("1")
    except OSError as error:
        raise OSError(error.errno, f"net.ipv4.ip_forward is 0 and cannot be set: {error.strerror}") from error
    return True
