"""The state directory of a pod, DATA/node/pods/<uid>/: the state that the kubelet needs after a restart.

The names of the files and their keys are read by later versions: they do not change without a migration.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import errno
import logging
import os
import pathlib
from typing import Any, TypeVar

import msgspec

from traincrew.embedded import private_files
from traincrew.embedded.kubelet.devices.allocation import Allocation
from traincrew.embedded.kubelet.lifecycle.observed import Eviction

log = logging.getLogger(__name__)

SANDBOX, STOPPED, EVICTION, DEVICES = "pod.json", "ended", "evicted.json", "devices.json"
POST_START = "post-start"
"""Exists in the directory of an attempt if its postStart hook has finished: the hook must not run twice."""
VERSION = 1
T = TypeVar("T")


class SandboxRecord(msgspec.Struct, frozen=True):
    """The sandbox as it was created."""

    namespace: str
    name: str
    uid: str
    address: str
    boot_id: str
    created: str = msgspec.field(name="made")
    """When the sandbox was created, RFC 3339."""
    version: int = VERSION
    host_network: bool = False


@dataclasses.dataclass(frozen=True)
class PodStateDirectory:
    path: pathlib.Path

    @property
    def uid(self) -> str:
        return self.path.name

    def create(self) -> None:
        private_files.ensure_directory(self.path)

    def sandbox(self) -> SandboxRecord | None:
        """None: no sandbox was ever created."""
        return self._read(SANDBOX, SandboxRecord)

    def write_sandbox(self, record: SandboxRecord) -> None:
        private_files.write(self.path / SANDBOX, msgspec.json.encode(record))

    def sandbox_stopped(self) -> bool:
        return (self.path / STOPPED).exists()

    def mark_sandbox_stopped(self) -> None:
        """Before the sandbox is stopped: then a missing shim does not mean a lost sandbox."""
        self._write_if_space(STOPPED, b"")

    def eviction(self) -> Eviction | None:
        return self._read(EVICTION, Eviction)

    def write_eviction(self, eviction: Eviction) -> None:
        """Before the pod is terminated: after a restart of the kubelet the pod must still count as evicted."""
        self._write_if_space(EVICTION, msgspec.json.encode(eviction))

    def _write_if_space(self, name: str, content: bytes) -> None:
        """On a full disk the pod ends without the record: that makes space. After a crash meanwhile it counts as lost."""
        try:
            private_files.write(self.path / name, content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            log.warning("no space for the record of a pod that ends", extra={"directory": str(self.path), "record": name})

    def evicted_at(self) -> dt.datetime | None:
        with contextlib.suppress(FileNotFoundError):
            return dt.datetime.fromtimestamp((self.path / EVICTION).stat().st_mtime, dt.UTC)
        return None

    def devices(self) -> Allocation | None:
        return self._read(DEVICES, Allocation)

    def write_devices(self, allocation: Allocation) -> None:
        """Before a container starts."""
        private_files.write(self.path / DEVICES, msgspec.json.encode(allocation))

    def _read(self, name: str, type: type[T]) -> T | None:
        try:
            return msgspec.json.decode((self.path / name).read_bytes(), type=type)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def mark_post_start(self, container: str, attempt: int, outcome: str) -> None:
        directory = self._attempt(container, attempt)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        private_files.write(directory / POST_START, outcome.encode())

    def post_start(self, container: str, attempt: int) -> str | None:
        with contextlib.suppress(FileNotFoundError):
            return (self._attempt(container, attempt) / POST_START).read_text()
        return None

    def attempts(self, container: str) -> list[int]:
        """The attempts that were started, in order."""
        try:
            names = os.listdir(self.path / "containers" / container)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def _attempt(self, container: str, attempt: int) -> pathlib.Path:
        return self.path / "containers" / container / str(attempt)

    @property
    def etc(self) -> pathlib.Path:
        return self.path / "etc"

    def write_etc(self, files: dict[str, str]) -> None:
        """hosts, resolv.conf and hostname, which are mounted into the containers."""
        self.etc.mkdir(mode=0o755, exist_ok=True)
        for name, text in files.items():
            path = self.etc / name
            path.write_text(text)
            path.chmod(0o644)


def list_all(root: pathlib.Path) -> list[PodStateDirectory]:
    with contextlib.suppress(FileNotFoundError):
        return [PodStateDirectory(path) for path in root.iterdir() if path.is_dir()]
    return []


def of(root: pathlib.Path, pod: dict[str, Any]) -> PodStateDirectory:
    return PodStateDirectory(root / pod["metadata"]["uid"])
