"""The bridge and what is plugged into it, seen from within the cluster's network namespace."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

from traincrew.embedded.kubelet.network import addresses, netlink
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.runtime import syscalls

BRIDGE = "crew0"
_DOOMED = 0x74C0


class PodBridge:
    def __init__(self, subnet: Subnet, mtu: int) -> None:
        self._subnet, self._mtu = subnet, mtu
        self._own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._link = netlink.Netlink()
        self._doomed: set[int] = set()
        self._link.ask(
            *netlink.bring_up("lo"), netlink.bridge(BRIDGE, addresses.mac_address(subnet.gateway), mtu), *netlink.bring_up(BRIDGE)
        )
        self._bridge = socket.if_nametoindex(BRIDGE)
        self._link.ask(netlink.address(self._bridge, subnet.gateway, subnet.prefix))

    def plug(self, pid: int, address: str, mac: str) -> None:
        """eth0 in that process's network namespace. One that is there already is replaced: it led to a holder that is gone."""
        space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(space).st_ino == os.fstat(self._own).st_ino:
                raise OSError(errno.EINVAL, f"process {pid} has no network namespace of its own")
            self._pull(address)
            with self._within(space):
                _pull_eth0()
            near = netlink.VethEnd(_near(address), mtu=self._mtu, master=self._bridge)
            self._link.ask(
                netlink.veth(near, netlink.VethEnd("eth0", mac, self._mtu, namespace=space)), *netlink.bring_up(near.name)
            )
            with self._within(space), netlink.Netlink() as inside:
                index = socket.if_nametoindex("eth0")
                inside.ask(
                    *netlink.bring_up("lo"),
                    *netlink.bring_up("eth0"),
                    netlink.address(index, address, self._subnet.prefix),
                    netlink.default_route(self._subnet.gateway, index),
                )
        except BaseException:
            self._pull(address)
            raise
        finally:
            os.close(space)

    def has(self, address: str) -> bool:
        """Whether it is plugged in: the link goes with the pod's namespace, and is not there any more once it is unplugged."""
        with contextlib.suppress(OSError):
            return socket.if_nametoindex(_near(address)) not in self._doomed
        return False

    def unplug(self, address: str) -> None:
        """Marks it only. Deleting takes 20 ms, in which nobody's names are answered: `sweep` does it for many at once."""
        with contextlib.suppress(OSError):
            self._doomed.add(socket.if_nametoindex(_near(address)))
            self._link.ask(netlink.set_group(_near(address), _DOOMED, errno.ENODEV))

    def sweep(self) -> None:
        self._doomed.clear()
        self._link.ask(netlink.delete_group(_DOOMED, errno.ENODEV))

    def _pull(self, address: str) -> None:
        with contextlib.suppress(OSError):
            socket.if_nametoindex(_near(address))
            self._link.ask(netlink.delete(_near(address), errno.ENODEV))

    def add(self, address: str) -> None:
        """One more address of the bridge, for a listener."""
        self._link.ask(netlink.address(self._bridge, address, 32, errno.EEXIST))

    def socket(self, family: int, pid: int | None = None) -> socket.socket:
        """A TCP socket that belongs to the cluster's network, or to that of a process, whoever uses it."""
        if pid is None:
            return socket.socket(family, socket.SOCK_STREAM)
        space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            with self._within(space):
                return socket.socket(family, socket.SOCK_STREAM)
        finally:
            os.close(space)

    @contextlib.contextmanager
    def _within(self, space: int) -> Iterator[None]:
        syscalls.setns(space, syscalls.CLONE_NEWNET)
        try:
            yield
        finally:
            syscalls.setns(self._own, syscalls.CLONE_NEWNET)


def _near(address: str) -> str:
    return f"pod{addresses.to_int(address):08x}"


def _pull_eth0() -> None:
    try:
        socket.if_nametoindex("eth0")
    except OSError:
        return
    with netlink.Netlink() as inside:
        inside.ask(netlink.delete("eth0", errno.ENODEV))
