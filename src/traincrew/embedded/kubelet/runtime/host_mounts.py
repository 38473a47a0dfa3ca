"""The mount table of this process."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class HostMount:
    number: int
    parent: int
    path: str
    kind: str
    writable: bool
    root: str = "/"
    """The directory of the file system that is mounted."""
    options: str = ""
    """Of the file system, not of the mount: includes the controllers of a cgroup v1 hierarchy."""
    device: str = ""
    """Major and minor number of the file system."""


def read(table: str = "/proc/self/mountinfo") -> tuple[HostMount, ...]:
    with open(table, encoding="utf-8", errors="surrogateescape") as lines:
        return tuple(_parse(line) for line in lines)


def visible(mounts: tuple[HostMount, ...]) -> tuple[HostMount, ...]:
    """Mounts that a path leads to, parents first: no other mount covers them."""
    by_number = {mount.number: mount for mount in mounts}
    top = {mount.path: mount for mount in mounts}
    seen = [mount for mount in top.values() if _reachable(mount, top, by_number)]
    return tuple(sorted(seen, key=lambda mount: (mount.path.rstrip("/").count("/"), mount.path)))


def is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _reachable(mount: HostMount, top: dict[str, HostMount], by_number: dict[int, HostMount]) -> bool:
    while mount.path != "/":
        if top[mount.path] is not mount:
            return False
        above = by_number.get(mount.parent)
        while above is not None and above.path == mount.path:
            above = by_number.get(above.parent)
        if above is None:
            return False
        mount = above
    return top["/"] is mount


def _parse(line: str) -> HostMount:
    left, right = line.split(" - ", 1)
    number, parent, device, root, path, flags = left.split()[:6]
    kind, _, options = [*right.split(), "", ""][:3]
    writable = "rw" in flags.split(",") and "rw" in options.split(",")
    return HostMount(int(number), int(parent), _unescape(path), kind, writable, _unescape(root), options, device)


def _unescape(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text
