"""Detects processes, mounts, sockets, cgroups and network interfaces that pods and clusters leave behind.

They are recognized by the path of the cluster's data directory, which a process has open, mounted, as its working directory or in
its environment. Without mounts, put the path into the environment of the container.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import time
import zlib
from collections.abc import Iterator

from traincrew.embedded.file_trees import walk

_GROUPS = pathlib.Path("/sys/fs/cgroup")


def find_leaks(data: pathlib.Path, group: str = "") -> list[str]:
    """group: the name of a cgroup that must not exist in any hierarchy."""
    found = [*_processes(str(data)), *_mounts(str(data)), *_sockets(data), *_interfaces(data)]
    return [*found, *(_groups(group) if group else ())]


def assert_no_leaks(data: pathlib.Path, group: str = "", seconds: float = 10.0) -> None:
    """Waits a moment, because killed processes do not exit at once."""
    deadline = time.monotonic() + seconds
    while (left := find_leaks(data, group)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, "left behind:\n" + "\n".join(left)


def _interfaces(data: pathlib.Path) -> Iterator[str]:
    """The link of the cluster's network to the host."""
    name = f"crew{zlib.crc32(os.fsencode(data / 'node')):08x}"
    if os.path.exists(f"/sys/class/net/{name}"):
        yield f"interface {name}"


def _processes(path: str) -> Iterator[str]:
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid() and (why := _belongs(name, path)):
            yield f"process {name} {_text(f'/proc/{name}/cmdline')[:120]!r}: {why}"


def _belongs(pid: str, path: str) -> str:
    for link in (f"/proc/{pid}/cwd", *(f"/proc/{pid}/fd/{fd}" for fd in _list(f"/proc/{pid}/fd"))):
        try:
            if os.readlink(link).startswith(path):
                return f"{link} -> {os.readlink(link)}"
        except OSError:
            continue
    for file in ("mountinfo", "environ"):
        if path in _text(f"/proc/{pid}/{file}") and not _is_ancestor(pid):
            return file
    return ""


def _is_ancestor(pid: str) -> bool:
    """This process and its ancestors may have the path in their environment."""
    own = os.getpid()
    while own > 1:
        if str(own) == pid:
            return True
        own = int(_text(f"/proc/{own}/stat").rpartition(")")[2].split()[1])
    return False


def _mounts(path: str) -> Iterator[str]:
    for line in _text("/proc/self/mountinfo").splitlines():
        if path in line:
            yield f"mount {line}"


def _sockets(data: pathlib.Path) -> Iterator[str]:
    with contextlib.suppress(FileNotFoundError):  # a pod directory may just be being removed
        yield from (f"socket {each.name} in {data}" for each in walk.walk(data) if stat.S_ISSOCK(each.status.st_mode))


def _groups(group: str) -> Iterator[str]:
    for directory, names, _ in os.walk(_GROUPS):
        for name in names:
            if name == group:
                yield f"cgroup {directory}/{name}"


def _list(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return pathlib.Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""
