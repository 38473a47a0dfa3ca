"""What the agent writes down of each pod, so that the next one knows what this one began: DATA/node/pods/<uid>/."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
from typing import Any

import msgspec

from traincrew.embedded import private_files
from traincrew.embedded.kubelet.devices.allocation import Allocation
from traincrew.embedded.kubelet.lifecycle.observed import Eviction

IDENTITY, ENDED, EVICTED, DEVICES = "pod.json", "ended", "evicted.json", "devices.json"
VERSION = 1


class SandboxRecord(msgspec.Struct, frozen=True):
    """The pod as it was when its sandbox was made."""

    namespace: str
    name: str
    uid: str
    address: str
    boot_id: str
    made: str
    """When, RFC 3339."""
    version: int = VERSION
    host_network: bool = False


@dataclasses.dataclass(frozen=True)
class PodStateDirectory:
    path: pathlib.Path

    @property
    def uid(self) -> str:
        return self.path.name

    def open(self) -> None:
        private_files.ensure_directory(self.path)

    def identity(self) -> SandboxRecord | None:
        """None: no sandbox was ever begun."""
        try:
            return msgspec.json.decode((self.path / IDENTITY).read_bytes(), type=SandboxRecord)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def identify(self, identity: SandboxRecord) -> None:
        private_files.write(self.path / IDENTITY, msgspec.json.encode(identity))

    def ended(self) -> bool:
        return (self.path / ENDED).exists()

    def mark_ended(self) -> None:
        """Before the sandbox is taken down: a shim that is gone afterwards is no loss."""
        private_files.write(self.path / ENDED, b"")

    def evict(self, eviction: Eviction) -> None:
        """Before anything is done about it: whoever comes after us must not take the pod's end for its own fault."""
        private_files.write(self.path / EVICTED, msgspec.json.encode(eviction))

    def eviction(self) -> Eviction | None:
        try:
            return msgspec.json.decode((self.path / EVICTED).read_bytes(), type=Eviction)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def assign(self, allocation: Allocation) -> None:
        """Before anything of the pod runs: its devices are its own from now on."""
        private_files.write(self.path / DEVICES, msgspec.json.encode(allocation))

    def devices(self) -> Allocation | None:
        try:
            return msgspec.json.decode((self.path / DEVICES).read_bytes(), type=Allocation)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def mark(self, container: str, attempt: int, what: str, text: str = "") -> None:
        place = self._attempt(container, attempt)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        private_files.write(place / what, text.encode())

    def marked(self, container: str, attempt: int, what: str) -> str | None:
        with contextlib.suppress(FileNotFoundError):
            return (self._attempt(container, attempt) / what).read_text()
        return None

    def attempts(self, container: str) -> list[int]:
        """Those that were begun, in order."""
        try:
            names = os.listdir(self.path / "containers" / container)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def _attempt(self, container: str, attempt: int) -> pathlib.Path:
        return self.path / "containers" / container / str(attempt)

    def etc(self, files: dict[str, str]) -> pathlib.Path:
        """hosts, resolv.conf and hostname, to be bound into the containers."""
        place = self.path / "etc"
        place.mkdir(mode=0o755, exist_ok=True)
        for name, text in files.items():
            path = place / name
            path.write_text(text)
            path.chmod(0o644)
        return place


def list_all(root: pathlib.Path) -> list[PodStateDirectory]:
    with contextlib.suppress(FileNotFoundError):
        return [PodStateDirectory(path) for path in root.iterdir() if path.is_dir()]
    return []


def of(root: pathlib.Path, pod: dict[str, Any]) -> PodStateDirectory:
    return PodStateDirectory(root / pod["metadata"]["uid"])
