"""The bridge of the cluster's network namespace, and the veth pairs that attach pods to it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

from traincrew.embedded.kubelet.network import addresses, netlink, netlink_routing
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.runtime import syscalls

BRIDGE = "crew0"
_DETACHED_GROUP = 0x74C0


class PodBridge:
    def __init__(self, subnet: Subnet, mtu: int) -> None:
        self._subnet, self._mtu = subnet, mtu
        self._own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._link = netlink.Netlink()
        self._detached: set[int] = set()
        self._link.ask(
            *netlink_routing.bring_up("lo"),
            netlink_routing.bridge(BRIDGE, addresses.mac_address(subnet.gateway), mtu),
            *netlink_routing.bring_up(BRIDGE),
        )
        self._bridge = socket.if_nametoindex(BRIDGE)
        self._link.ask(netlink_routing.address(self._bridge, subnet.gateway, subnet.prefix))

    def attach(self, pid: int, address: str, mac: str) -> None:
        """Creates eth0 in that process's network namespace. Replaces an eth0 of an earlier netns daemon."""
        namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(namespace).st_ino == os.fstat(self._own).st_ino:
                raise OSError(errno.EINVAL, f"process {pid} does not have its own network namespace")
            self._delete(address)
            with self._in_namespace(namespace):
                _delete_eth0()
            host_end = netlink_routing.VethEnd(_host_name(address), mtu=self._mtu, master=self._bridge)
            self._link.ask(
                netlink_routing.veth(host_end, netlink_routing.VethEnd("eth0", mac, self._mtu, namespace=namespace)),
                *netlink_routing.bring_up(host_end.name),
            )
            with self._in_namespace(namespace), netlink.Netlink() as inside:
                index = socket.if_nametoindex("eth0")
                inside.ask(
                    *netlink_routing.bring_up("lo"),
                    *netlink_routing.bring_up("eth0"),
                    netlink_routing.address(index, address, self._subnet.prefix),
                    netlink_routing.default_route(self._subnet.gateway, index),
                )
        except BaseException:
            self._delete(address)
            raise
        finally:
            os.close(namespace)

    def is_attached(self, address: str) -> bool:
        """Whether a pod has this address. The link ends with the pod's namespace."""
        with contextlib.suppress(OSError):
            return socket.if_nametoindex(_host_name(address)) not in self._detached
        return False

    def detach(self, address: str) -> None:
        """Marks the link. Deleting takes 20 ms, in which no DNS query is answered: `delete_detached` deletes many at once."""
        with contextlib.suppress(OSError):
            self._detached.add(socket.if_nametoindex(_host_name(address)))
            self._link.ask(netlink_routing.set_group(_host_name(address), _DETACHED_GROUP, errno.ENODEV))

    def delete_detached(self) -> None:
        self._detached.clear()
        self._link.ask(netlink_routing.delete_group(_DETACHED_GROUP, errno.ENODEV))

    def _delete(self, address: str) -> None:
        with contextlib.suppress(OSError):
            socket.if_nametoindex(_host_name(address))
            self._link.ask(netlink_routing.delete(_host_name(address), errno.ENODEV))

    def add_address(self, address: str) -> None:
        """Adds an address to the bridge, for a listener."""
        self._link.ask(netlink_routing.address(self._bridge, address, 32, errno.EEXIST))

    def socket(self, family: int, pid: int | None = None) -> socket.socket:
        """A TCP socket of the cluster's network namespace, or of the one of a process."""
        if pid is None:
            return socket.socket(family, socket.SOCK_STREAM)
        namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            with self._in_namespace(namespace):
                return socket.socket(family, socket.SOCK_STREAM)
        finally:
            os.close(namespace)

    @contextlib.contextmanager
    def _in_namespace(self, namespace: int) -> Iterator[None]:
        syscalls.setns(namespace, syscalls.CLONE_NEWNET)
        try:
            yield
        finally:
            syscalls.setns(self._own, syscalls.CLONE_NEWNET)


def _host_name(address: str) -> str:
    return f"pod{addresses.to_int(address):08x}"


def _delete_eth0() -> None:
    try:
        socket.if_nametoindex("eth0")
    except OSError:
        return
    with netlink.Netlink() as inside:
        inside.ask(netlink_routing.delete("eth0", errno.ENODEV))
