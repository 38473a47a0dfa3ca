"""Starts a holder: the half that stays in the host's namespaces, and is gone once the holder answers."""

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

from traincrew.embedded.kubelet.network import addresses, egress, netlink, netns_daemon, netns_state, userspace_routers
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.bridge import PodBridge
from traincrew.embedded.kubelet.network.dns_upstream import UpstreamResolver
from traincrew.embedded.kubelet.network.netns_state import Record
from traincrew.embedded.kubelet.runtime import syscalls

_MTU = 1500


def main() -> None:
    """Arguments: directory, level of isolation, network wished for, a descriptor of the user namespace to join (or -1).

    One line of JSON on stdout tells the outcome.
    """
    directory, isolation, wanted, space = sys.argv[1:5]
    os.umask(0o077)
    os.chdir(directory)
    try:
        lock = _lock()
        print(json.dumps(_started(isolation, wanted, int(space)) if lock is not None else {"busy": True}), flush=True)
    except Exception as error:
        traceback.print_exc()
        print(json.dumps({"failed": str(error)}), flush=True)


def clear() -> None:
    """What a holder that was killed left behind. Argument: the directory."""
    os.chdir(sys.argv[1])
    lock = _lock()
    if lock is not None:
        egress.tear_down(netns_state.read(netns_state.RECORD).get("egress") or {})
        netns_daemon.remove_files()
    print(json.dumps({"cleared": lock is not None}), flush=True)


def _lock() -> int | None:
    """Held as long as there is a holder: two cannot be. None: somebody has it."""
    while True:
        lock = os.open(netns_state.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == os.stat(netns_state.LOCK).st_ino:
                return lock
        except BlockingIOError:
            return None
        except FileNotFoundError:
            pass
        # A holder that stopped took the file with it: that lock keeps nobody out any more.
        os.close(lock)


def _started(isolation: str, wanted: str, space: int) -> Record:
    last, plugs = netns_state.read(netns_state.RECORD), netns_state.read(netns_state.ATTACHMENTS)
    egress.tear_down(last.get("egress") or {})
    alive = [found for found in plugs.values() if isinstance(found, dict) and netns_state.is_alive(found)]
    upstream = UpstreamResolver()
    with netlink.Netlink() as link:
        routes = netlink.routes(link)
        outward = next((route.index for route in routes if route.prefix == 0), 0)
        mtu = min(_MTU, netlink.mtu(link, outward) or _MTU)
    keep = last.get("subnet") if alive else None
    subnet = Subnet.parse(keep) if keep else addresses.choose_subnet(wanted, _taken(routes, upstream.servers()))
    near, far = socket.socketpair()
    identity, plugged = f"{zlib.crc32(os.getcwdb()):08x}", tuple(int(found["pid"]) for found in alive)
    setting = LaunchConfig(isolation, subnet, mtu, identity, plugged, space, last.get("ids") or {})
    if (pid := os.fork()) == 0:
        near.close()
        _become_holder(LineChannel(far), setting, upstream)
    far.close()
    return _accompany(LineChannel(near), pid, setting)


def _taken(routes: list[netlink.Route], servers: list[str]) -> list[tuple[int, int]]:
    """Where the host has something to reach, its resolvers included: those may lie behind the default route."""
    resolvers = [(addresses.to_int(server), 32) for server in servers if ":" not in server]
    return [(route.network, route.prefix) for route in routes] + resolvers


@dataclasses.dataclass(frozen=True)
class LaunchConfig:
    isolation: str
    subnet: Subnet
    mtu: int
    identity: str
    """Of the cluster, among those of this host."""
    plugged: tuple[int, ...]
    """Processes that were plugged into the last holder's network, and live."""
    space: int
    """The user namespace that the last holder had, as a descriptor; -1: not known."""
    ids: Record
    """How many ids that user namespace has."""


class LineChannel:
    """Between the two halves, a line at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._file = end.makefile("rw")
        end.close()

    def say(self, content: Record) -> None:
        self._file.write(json.dumps(content) + "\n")
        self._file.flush()

    def hear(self) -> Record:
        """Raises OSError with the other's words if it failed."""
        line = self._file.readline()
        found: Record = json.loads(line) if line else {"failed": "the holder ended without a word; holder.log may have one"}
        if "failed" in found:
            raise OSError(5, str(found["failed"]))
        return found

    def close(self) -> None:
        self._file.close()


def _accompany(talk: LineChannel, pid: int, setting: LaunchConfig) -> Record:
    done: Record = {}
    try:
        if talk.hear().get("map"):
            talk.say(_map(pid))
            talk.hear()
        done = egress.set_up_host_side(setting.isolation, setting.subnet, pid, setting.identity, setting.mtu)
        talk.say(done)
        return talk.hear()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        egress.tear_down(done)
        raise


def _map(pid: int) -> Record:
    """Gives the holder's user namespace its ids. Imported here: it is needed on this side only."""
    from traincrew.embedded.kubelet.runtime import user_namespace

    return dataclasses.asdict(user_namespace.map_ids(pid))


def _become_holder(talk: LineChannel, setting: LaunchConfig, upstream: UpstreamResolver) -> NoReturn:
    code = 1
    try:
        outside = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
        ids = _own_user_namespace(talk, setting) if setting.isolation == "user" else {}
        syscalls.unshare(syscalls.CLONE_NEWNET)
        wires = PodBridge(setting.subnet, setting.mtu)
        talk.say({})
        done = egress.set_up_cluster_side(talk.hear(), setting.subnet)
        known = {
            **netns_state.identity(os.getpid()),
            "protocol": netns_state.PROTOCOL,
            "isolation": setting.isolation,
            "subnet": str(setting.subnet),
            "gateway": setting.subnet.gateway,
            "userns": setting.isolation == "user",
            "ids": ids,
            "egress": done,
        }

        def ready() -> None:
            talk.say({"ready": True})
            talk.close()

        netns_daemon.serve(wires, known, upstream, lambda: _leave(outside, done), ready)
        code = 0
    except BaseException as error:
        traceback.print_exc()
        with contextlib.suppress(OSError, ValueError):
            talk.say({"failed": getattr(error, "strerror", None) or str(error)})
    finally:
        os._exit(code)


def _own_user_namespace(talk: LineChannel, setting: LaunchConfig) -> Record:
    """That of the last holder, if anything is left in it: nobody else has a right to the networks of its pods."""
    for pid in setting.plugged:
        with contextlib.suppress(OSError):
            space = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
            try:
                syscalls.setns(space, syscalls.CLONE_NEWUSER)
                return setting.ids
            finally:
                os.close(space)
    if setting.space >= 0:
        syscalls.setns(setting.space, syscalls.CLONE_NEWUSER)
        os.close(setting.space)
        return setting.ids
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    talk.say({"map": True})
    ids = talk.hear()
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return ids


def _leave(outside: int, done: Record) -> None:
    """What is left in the host's network goes, from there. In a user namespace there is no way back, and nothing was left."""
    if done.get("how") == "veth":
        syscalls.setns(outside, syscalls.CLONE_NEWNET)
    egress.tear_down(done)
    if "process" in done:
        userspace_routers.wait_until_gone(done["process"], 2.0)
