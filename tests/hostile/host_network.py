"""What a cluster changes in the network of the host: firewall rules, and the kernel's setting that forwards packets."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import zlib
from collections.abc import Iterable, Iterator

from traincrew.embedded.kubelet.network import egress, nftables

_FORWARD = pathlib.Path("/proc/sys/net/ipv4/ip_forward")


def left_by(data: pathlib.Path, forwarding: str) -> Iterator[str]:
    """forwarding: the machine's own value."""
    if os.geteuid() != 0:
        return
    mark = f"traincrew-{zlib.crc32(os.fsencode(data / 'node')):08x}"
    yield from (f"nf_tables table {name}" for name in nftables.tables() if name == mark)
    yield from (f"iptables rule {line}" for line in _rules() if mark in line)
    yield from forwarding_left(forwarding, _FORWARD.read_text().strip(), _marker().exists(), _links())


def forwarding_of_the_machine() -> str:
    """The value of net.ipv4.ip_forward without clusters: one that has set it has left a file that says so."""
    return "0" if _marker().exists() else _FORWARD.read_text().strip()


def forwarding_left(before: str, now: str, marked: bool, links: Iterable[str]) -> Iterator[str]:
    """Other clusters of the machine may need the setting. Each has a link."""
    if any(name.startswith(egress.link_name("")) for name in links):
        return
    if marked:
        yield f"file {_marker()}"
    if before != now:
        yield f"net.ipv4.ip_forward is {now}, and was {before}"


def _marker() -> pathlib.Path:
    return pathlib.Path(f"/run/traincrew-ip-forward.{os.stat('/proc/self/ns/net').st_ino}")


def _links() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def _rules() -> list[str]:
    if shutil.which("iptables-save") is None:
        return []
    return subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout.splitlines()
