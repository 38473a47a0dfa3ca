"""Which logs there are: `<root>/<namespace>_<pod>_<uid>/<container>/<attempt>.log`, those of deleted pods among them."""

from __future__ import annotations

import contextlib
import pathlib
from typing import NamedTuple

from traincrew.embedded.kubelet.logs import cursor


class Kept(NamedTuple):
    """The logs of one pod."""

    namespace: str
    pod: str
    uid: str
    path: pathlib.Path

    def containers(self) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(each.name for each in self.path.iterdir() if each.is_dir())
        return []


def kept(root: pathlib.Path) -> list[Kept]:
    found = []
    with contextlib.suppress(FileNotFoundError):
        for path in root.iterdir():
            namespace, _, rest = path.name.partition("_")
            pod, _, uid = rest.partition("_")
            if uid and path.is_dir():
                found.append(Kept(namespace, pod, uid, path))
    return found


def of_pod(root: pathlib.Path, namespace: str, pod: str, uid: str) -> pathlib.Path:
    return root / f"{namespace}_{pod}_{uid}"


def of_container(root: pathlib.Path, namespace: str, pod: str, uid: str, container: str) -> pathlib.Path:
    return of_pod(root, namespace, pod, uid) / container


def attempts(directory: pathlib.Path) -> list[int]:
    """The runs of a container of which there is a log, oldest first."""
    with contextlib.suppress(FileNotFoundError):
        names = (each.name.partition(".log")[0] for each in directory.iterdir() if ".log" in each.name)
        return sorted({int(name) for name in names if name.isdecimal()})
    return []


def began(directory: pathlib.Path) -> bytes:
    """The stamp of the first line that is kept of a container; empty if there is none."""
    for attempt in attempts(directory):
        for path in cursor.files(directory, attempt):
            with path.open("rb") as file:
                return file.read(cursor.STAMP)
    return b""
