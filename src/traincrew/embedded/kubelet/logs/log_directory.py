"""The log directory: `<root>/<namespace>_<pod>_<uid>/<container>/<attempt>.log`, including deleted pods."""

from __future__ import annotations

import contextlib
import pathlib
from typing import NamedTuple

from traincrew.embedded.kubelet.logs import cursor


class PodLogs(NamedTuple):
    """The logs of one pod."""

    namespace: str
    pod: str
    uid: str
    path: pathlib.Path

    def containers(self) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(each.name for each in self.path.iterdir() if each.is_dir())
        return []


def list_pod_logs(root: pathlib.Path) -> list[PodLogs]:
    logs = []
    with contextlib.suppress(FileNotFoundError):
        for path in root.iterdir():
            namespace, _, rest = path.name.partition("_")
            pod, _, uid = rest.partition("_")
            if uid and path.is_dir():
                logs.append(PodLogs(namespace, pod, uid, path))
    return logs


def pod_directory(root: pathlib.Path, namespace: str, pod: str, uid: str) -> pathlib.Path:
    return root / f"{namespace}_{pod}_{uid}"


def container_directory(root: pathlib.Path, namespace: str, pod: str, uid: str, container: str) -> pathlib.Path:
    return pod_directory(root, namespace, pod, uid) / container


def attempts(directory: pathlib.Path) -> list[int]:
    """The attempts of a container that have a log, oldest first."""
    with contextlib.suppress(FileNotFoundError):
        names = (each.name.partition(".log")[0] for each in directory.iterdir() if ".log" in each.name)
        return sorted({int(name) for name in names if name.isdecimal()})
    return []


def first_timestamp(directory: pathlib.Path) -> bytes:
    """The timestamp of the first line of a container; empty if there is none."""
    for attempt in attempts(directory):
        for path in cursor.files(directory, attempt):
            with path.open("rb") as file:
                return file.read(cursor.TIMESTAMP_BYTES)
    return b""
