"""Which devices this machine has: NVIDIA's GPUs are found by themselves, everything else is declared."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

GPU = "nvidia.com/gpu"
_SECONDS = 20
_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "dxg")
"""Files of the driver itself, which whoever has a GPU needs. (dxg: in the Linux that Windows brings.)"""
_LISTED = re.compile(r"GPU (\d+): .*\(UUID: (GPU-[0-9a-f-]+)\)")


class Device(NamedTuple):
    id: str
    """As CUDA takes it: a UUID, or a number where there is no driver to tell one."""
    path: str = ""
    """Its file; empty: it was declared, and there is none."""


@dataclasses.dataclass(frozen=True)
class Inventory:
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Extended resources by name."""
    devices: Mapping[str, tuple[Device, ...]] = dataclasses.field(default_factory=dict)
    """Those of them that are told apart, each by itself; of the others only the number counts."""
    shared: tuple[str, ...] = ()
    """Device files that come with any of them."""

    def files(self, resource: str, ids: tuple[str, ...]) -> tuple[str, ...]:
        own = tuple(each.path for each in self.devices.get(resource, ()) if each.id in ids and each.path)
        return (*own, *self.shared) if own else ()


def discover(declared: Mapping[str, int], root: pathlib.Path = pathlib.Path("/")) -> Inventory:
    """What is declared counts, also where more or fewer are found; a number of 0 hides what there is.

    root: where the driver shows itself, if not in the machine's own /proc and /dev.
    """
    found = nvidia_gpus(root) if declared.get(GPU, 1) else ()
    counts = ({GPU: len(found)} if found else {}) | {name: count for name, count in declared.items() if count}
    if GPU not in counts:
        return Inventory(counts)
    number = counts[GPU]
    units = (*found[:number], *(Device(str(index)) for index in range(len(found), number)))
    files = [root / "dev" / name for name in _SHARED] if found else []
    return Inventory(counts, {GPU: units}, tuple(str(file) for file in files if file.exists()))


def nvidia_gpus(root: pathlib.Path) -> tuple[Device, ...]:
    """In the order of their places on the bus, as the driver counts them."""
    known = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    if known:
        return tuple(_described(root, index, file) for index, file in enumerate(known))
    return _listed(root) if root == pathlib.Path("/") else ()


def _described(root: pathlib.Path, index: int, file: pathlib.Path) -> Device:
    with contextlib.suppress(OSError):
        told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in file.read_text().splitlines())}
        uuid, minor = told.get("GPU UUID", ""), told.get("Device Minor", str(index))
        # Until a GPU was used for the first time its UUID is shown as question marks.
        return Device(uuid if uuid and "?" not in uuid else str(index), _file(root, minor))
    return Device(str(index), _file(root, str(index)))


def _listed(root: pathlib.Path) -> tuple[Device, ...]:
    """Where the driver's own directory cannot be read, its program tells."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        done = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(Device(uuid, _file(root, number)) for number, uuid in parse_nvidia_smi(done.stdout))


def parse_nvidia_smi(text: str) -> list[tuple[str, str]]:
    """Numbers and UUIDs of `nvidia-smi -L`."""
    return _LISTED.findall(text)


def _file(root: pathlib.Path, minor: str) -> str:
    path = root / "dev" / f"nvidia{minor}"
    return str(path) if path.exists() else ""
