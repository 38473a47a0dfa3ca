"""Joined nodes that lose their power or are cut off, and come back."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from tests.cluster.api import Object
from tests.node.local_cluster import LocalCluster

from traincrew.embedded.kubelet.network import addresses, egress, netns_state


def power_off(machine: LocalCluster) -> None:
    """As a machine that loses power: nothing of it is heard any more, neither its kubelet nor the closing of a connection."""
    _in_network(machine, "link", "set", egress.UPLINK, "down")
    machine.kill()
    for shim in (machine.data / "node" / "pods").glob("*/shim.json"):
        for group in json.loads(shim.read_text())["groups"]:
            _kill_group(pathlib.Path(group))


def reboot(machine: LocalCluster, *flags: str) -> None:
    """The machine is back: its kubelet finds pods without processes."""
    _restore_network(machine)
    machine.up(*flags)


def cut_off(machine: LocalCluster) -> None:
    """As a machine whose network fails: nobody reaches it, and its processes run on."""
    _in_network(machine, "link", "set", egress.UPLINK, "down")
    os.kill(machine.pid, signal.SIGSTOP)


def reconnect(machine: LocalCluster) -> None:
    _restore_network(machine)
    os.kill(machine.pid, signal.SIGCONT)


def _kill_group(group: pathlib.Path) -> None:
    """All processes of a cgroup and of those below it."""
    for procs in group.rglob("cgroup.procs"):
        for pid in procs.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def _restore_network(machine: LocalCluster) -> None:
    _in_network(machine, "link", "set", egress.UPLINK, "up")
    subnet = addresses.Subnet.parse(_network(machine)["subnet"])
    _in_network(machine, "route", "replace", "default", "via", subnet.host_end, "dev", egress.UPLINK)


def _network(machine: LocalCluster) -> Object:
    found: Object = json.loads((machine.data / "node" / netns_state.RECORD).read_text())
    return found


def _in_network(machine: LocalCluster, *arguments: str) -> None:
    """`ip` in the network of the node's pods."""
    subprocess.run(["nsenter", f"--net=/proc/{_network(machine)['pid']}/ns/net", "ip", *arguments], check=True)
