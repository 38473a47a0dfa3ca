"""The devices of this machine: NVIDIA GPUs are discovered, other devices are declared."""

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
"""Device files of the driver, which every container with a GPU needs. (dxg: in WSL 2.)"""
_LISTED = re.compile(r"GPU (\d+): .*\(UUID: (GPU-[0-9a-f-]+)\)")


class Device(NamedTuple):
    id: str
    """For CUDA_VISIBLE_DEVICES: a UUID, or an index if the driver does not provide one."""
    path: str = ""
    """The device file; empty: a declared device without a file."""


@dataclasses.dataclass(frozen=True)
class Inventory:
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Extended resources by name."""
    devices: Mapping[str, tuple[Device, ...]] = dataclasses.field(default_factory=dict)
    """Devices that are allocated one by one. Of other resources only the number counts."""
    shared: tuple[str, ...] = ()
    """Device files that come with each device."""

    def files(self, resource: str, ids: tuple[str, ...]) -> tuple[str, ...]:
        own = tuple(each.path for each in self.devices.get(resource, ()) if each.id in ids and each.path)
        return (*own, *self.shared) if own else ()


def discover(declared: Mapping[str, int], root: pathlib.Path = pathlib.Path("/")) -> Inventory:
    """A declared number overrides the discovered devices; 0 hides them.

    root: the directory with the /proc and /dev of the driver.
    """
    gpus = nvidia_gpus(root) if declared.get(GPU, 1) else ()
    counts = ({GPU: len(gpus)} if gpus else {}) | {name: count for name, count in declared.items() if count}
    if GPU not in counts:
        return Inventory(counts)
    number = counts[GPU]
    units = (*gpus[:number], *(Device(str(index)) for index in range(len(gpus), number)))
    files = [root / "dev" / name for name in _SHARED] if gpus else []
    return Inventory(counts, {GPU: units}, tuple(str(file) for file in files if file.exists()))


def nvidia_gpus(root: pathlib.Path) -> tuple[Device, ...]:
    """In PCI bus order, as the driver counts them."""
    known = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    if known:
        return tuple(_described(root, index, file) for index, file in enumerate(known))
    return _from_nvidia_smi(root) if root == pathlib.Path("/") else ()


def _described(root: pathlib.Path, index: int, file: pathlib.Path) -> Device:
    with contextlib.suppress(OSError):
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in file.read_text().splitlines())}
        uuid, minor = fields.get("GPU UUID", ""), fields.get("Device Minor", str(index))
        # The driver shows question marks until a GPU is used for the first time.
        return Device(uuid if uuid and "?" not in uuid else str(index), _file(root, minor))
    return Device(str(index), _file(root, str(index)))


def _from_nvidia_smi(root: pathlib.Path) -> tuple[Device, ...]:
    """Uses nvidia-smi if the driver's directory is not readable."""
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
