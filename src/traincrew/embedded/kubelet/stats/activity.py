"""The activity of a pod: when its containers printed last, and its connections to other pods."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import os
import pathlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from traincrew.embedded.kubelet.logs import cursor, log_directory

_ESTABLISHED = "01"
_PROC = pathlib.Path("/proc")


class PodActivity(NamedTuple):
    last_output: dt.datetime | None = None
    """None: no container has printed anything since it started."""
    connections: int | None = None
    """Established TCP connections to other pods. None: the pod has no network of its own."""


def last_output(logs: pathlib.Path, pod: Mapping[str, Any]) -> dt.datetime | None:
    """Of the current runs of the containers, from the times of their log files."""
    meta, times = pod["metadata"], []
    for container in pod["spec"]["containers"]:
        directory = log_directory.container_directory(logs, meta["namespace"], meta["name"], meta["uid"], container["name"])
        for attempt in log_directory.attempts(directory)[-1:]:
            times += [written for path in cursor.files(directory, attempt) if (written := _written(path))]
    return dt.datetime.fromtimestamp(max(times), dt.UTC) if times else None


def _written(path: pathlib.Path) -> float:
    """0: nothing was written."""
    with contextlib.suppress(FileNotFoundError):
        state = path.stat()
        return state.st_mtime if state.st_size else 0.0
    return 0.0


def connections(pid: int, own: str, pod_addresses: Collection[str], proc: pathlib.Path = _PROC) -> int | None:
    """Connections of the network of the process. own: the address of its pod."""
    try:
        if os.stat(proc / str(pid) / "ns" / "net").st_ino == os.stat(proc / "self" / "ns" / "net").st_ino:
            return None
        peers = [*_peers((proc / str(pid) / "net" / "tcp").read_text()), *_peers((proc / str(pid) / "net" / "tcp6").read_text())]
    except OSError:  # the process has ended, or the machine has no IPv6
        return None
    return sum(peer != own and peer in pod_addresses for peer in peers)


def _peers(table: str) -> Iterator[str]:
    """The remote addresses of the established connections in /proc/net/tcp."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[3] == _ESTABLISHED:
            yield _address(fields[2].partition(":")[0])


def _address(text: str) -> str:
    """The kernel writes addresses as words in the byte order of the machine."""
    words = [bytes.fromhex(text[index : index + 8])[::-1] for index in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
