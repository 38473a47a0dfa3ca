"""Starts the netns daemon. The launcher stays in the host's namespaces and exits when the daemon is ready."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import socket
import sys
import traceback
import zlib
from typing import NoReturn

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.network import (
    addresses,
    egress,
    former_netns_daemon,
    netlink,
    netlink_routing,
    netns_daemon,
    netns_state,
    userspace_routers,
)
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.bridge import PodBridge
from traincrew.embedded.kubelet.network.dns_upstream import UpstreamResolver
from traincrew.embedded.kubelet.network.netns_state import Record
from traincrew.embedded.kubelet.runtime import syscalls

_MTU = 1500


def main() -> None:
    """Arguments: directory, isolation level, wanted subnet, descriptor of a user namespace to join (or -1).

    Prints the outcome as a line of JSON.
    """
    directory, isolation, subnet_option, userns = sys.argv[1:5]
    os.umask(0o077)
    os.chdir(directory)
    try:
        lock = _lock()
        print(json.dumps(_start(isolation, subnet_option, int(userns)) if lock is not None else {"busy": True}), flush=True)
    except Exception as error:
        traceback.print_exc()
        print(json.dumps({"failed": str(error)}), flush=True)


def clear() -> None:
    """Removes what a killed netns daemon left. Argument: the directory."""
    os.chdir(sys.argv[1])
    lock = _lock()
    if lock is not None:
        egress.tear_down(netns_state.read(netns_state.RECORD).get("egress") or {})
        netns_daemon.remove_files()
    print(json.dumps({"cleared": lock is not None}), flush=True)


def _lock() -> int | None:
    """The lock that makes the netns daemon the only one of its cluster. None: another process has it."""
    while former_netns_daemon.take_over_files():
        lock = os.open(netns_state.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == os.stat(netns_state.LOCK).st_ino:
                return lock
        except BlockingIOError:
            return None
        except FileNotFoundError:
            pass
        # A netns daemon that stopped has removed this file. The lock is worthless.
        os.close(lock)
    return None


def _start(isolation: str, subnet_option: str, userns: int) -> Record:
    last, attachments = netns_state.read(netns_state.RECORD), netns_state.read(netns_state.ATTACHMENTS)
    egress.tear_down(last.get("egress") or {})
    running = [record for record in attachments.values() if isinstance(record, dict) and process_identity.is_alive(record)]
    upstream = UpstreamResolver()
    with netlink.Netlink() as link:
        routes = netlink_routing.routes(link)
        outward = next((route.index for route in routes if route.prefix == 0), 0)
        mtu = min(_MTU, netlink_routing.mtu(link, outward) or _MTU)
    keep = last.get("subnet") if running else None
    subnet = Subnet.parse(keep) if keep else addresses.choose_subnet(subnet_option, _networks_in_use(routes, upstream.servers()))
    near, far = socket.socketpair()
    identity, attached = f"{zlib.crc32(os.getcwdb()):08x}", tuple(int(record["pid"]) for record in running)
    config = LaunchConfig(isolation, subnet, mtu, identity, attached, userns, last.get("ids") or {})
    if (pid := os.fork()) == 0:
        near.close()
        _run_daemon(LineChannel(far), config, upstream)
    far.close()
    return _complete_start(LineChannel(near), pid, config)


def _networks_in_use(routes: list[netlink_routing.NetlinkRoute], servers: list[str]) -> list[tuple[int, int]]:
    """Networks that the host reaches, and its resolvers, which may be behind the default route."""
    resolvers = [(addresses.to_int(server), 32) for server in servers if ":" not in server]
    return [(route.network, route.prefix) for route in routes] + resolvers


@dataclasses.dataclass(frozen=True)
class LaunchConfig:
    isolation: str
    subnet: Subnet
    mtu: int
    identity: str
    """Distinguishes this cluster from others on the host."""
    attached: tuple[int, ...]
    """Running pod processes that the previous netns daemon had attached."""
    userns: int
    """Descriptor of the user namespace of the previous netns daemon; -1: not known."""
    ids: Record
    """The ids that are mapped in that user namespace."""


class LineChannel:
    """JSON lines between launcher and daemon."""

    def __init__(self, end: socket.socket) -> None:
        self._file = end.makefile("rw")
        end.close()

    def send(self, content: Record) -> None:
        self._file.write(json.dumps(content) + "\n")
        self._file.flush()

    def receive(self) -> Record:
        """Raises OSError if the other process reports a failure."""
        line = self._file.readline()
        exited = f"the netns daemon exited during its start. See {netns_state.LOG}."
        message: Record = json.loads(line) if line else {"failed": exited}
        if "failed" in message:
            raise OSError(5, str(message["failed"]))
        return message

    def close(self) -> None:
        self._file.close()


def _complete_start(channel: LineChannel, pid: int, config: LaunchConfig) -> Record:
    done: Record = {}
    try:
        if channel.receive().get("map"):
            channel.send(_map(pid))
            channel.receive()
        done = egress.set_up_host_side(config.isolation, config.subnet, pid, config.identity, config.mtu)
        channel.send(done)
        return channel.receive()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        egress.tear_down(done)
        raise


def _map(pid: int) -> Record:
    """Maps the ids of the daemon's user namespace. Imports here: the daemon does not need the module."""
    from traincrew.embedded.kubelet.runtime import user_namespace

    return dataclasses.asdict(user_namespace.map_ids(pid))


def _run_daemon(channel: LineChannel, config: LaunchConfig, upstream: UpstreamResolver) -> NoReturn:
    code = 1
    try:
        host_netns = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _detach_from_terminal()
        ids = _enter_user_namespace(channel, config) if config.isolation == "user" else {}
        syscalls.unshare(syscalls.CLONE_NEWNET)
        bridge = PodBridge(config.subnet, config.mtu)
        channel.send({})
        done = egress.set_up_cluster_side(channel.receive(), config.subnet)

        def ready() -> None:
            channel.send({"ready": True})
            channel.close()

        netns_daemon.serve(bridge, _known(config, ids, done), upstream, lambda: _tear_down(host_netns, done), ready)
        code = 0
    except BaseException as error:
        traceback.print_exc()
        with contextlib.suppress(OSError, ValueError):
            channel.send({"failed": getattr(error, "strerror", None) or str(error)})
    finally:
        os._exit(code)


def _detach_from_terminal() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _known(config: LaunchConfig, ids: Record, done: Record) -> Record:
    """What the daemon reports about itself. done: how egress was set up."""
    return {
        **process_identity.of(os.getpid()),
        "protocol": netns_state.PROTOCOL,
        "isolation": config.isolation,
        "subnet": str(config.subnet),
        "gateway": config.subnet.gateway,
        "userns": config.isolation == "user",
        "ids": ids,
        "egress": done,
    }


def _enter_user_namespace(channel: LineChannel, config: LaunchConfig) -> Record:
    """Joins the user namespace of the previous netns daemon if it still exists: it owns the pods' network namespaces."""
    for pid in config.attached:
        with contextlib.suppress(OSError):
            userns = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
            try:
                syscalls.setns(userns, syscalls.CLONE_NEWUSER)
                return config.ids
            finally:
                os.close(userns)
    if config.userns >= 0:
        syscalls.setns(config.userns, syscalls.CLONE_NEWUSER)
        os.close(config.userns)
        return config.ids
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    channel.send({"map": True})
    ids = channel.receive()
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return ids


def _tear_down(host_netns: int, done: Record) -> None:
    """Undoes the changes in the host's network namespace. From a user namespace there is no way back, and nothing to undo."""
    if done.get("how") == "veth":
        syscalls.setns(host_netns, syscalls.CLONE_NEWNET)
    egress.tear_down(done)
    if "process" in done:
        userspace_routers.wait_until_gone(done["process"], 2.0)
