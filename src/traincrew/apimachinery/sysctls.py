"""Sysctls of pods: which namespace the kernel keeps them in, and which are safe. As in Kubernetes 1.32."""

from __future__ import annotations

import enum

SAFE = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)  # fmt: skip
"""Namespaced sysctls that do not affect other pods of the node."""


class KernelNamespace(enum.StrEnum):
    """The values are the words of the kubelet's messages."""

    IPC = "IPC"
    NET = "Net"


_NAMES = {"kernel.sem": KernelNamespace.IPC}
_PREFIXES = {
    "kernel.shm": KernelNamespace.IPC,
    "kernel.msg": KernelNamespace.IPC,
    "fs.mqueue.": KernelNamespace.IPC,
    "net.": KernelNamespace.NET,
}


def normalize_name(name: str) -> str:
    """The name with dots as separators. In `net/ipv4/conf/eth0.1/arp_filter` the dot is a part of a word, and becomes a slash."""
    first = next((letter for letter in name if letter in "./"), ".")
    return name if first == "." else name.translate({ord("."): "/", ord("/"): "."})


def namespace_of(name: str) -> KernelNamespace | None:
    """None: the sysctl is not known to be namespaced. A pod that sets it would set it for the whole machine.

    name: normalized; or the beginning of a name.
    """
    return _NAMES.get(name) or next((space for prefix, space in _PREFIXES.items() if name.startswith(prefix)), None)


def file_of(name: str) -> str | None:
    """The path below /proc/sys of a normalized name. None: it would lead elsewhere."""
    words = [word.replace("/", ".") for word in name.split(".")]
    return None if any(word in ("", ".", "..") for word in words) else "/".join(words)
