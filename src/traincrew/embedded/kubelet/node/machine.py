"""What this machine is and has, and how a Node object tells it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import shutil
from collections.abc import Mapping

from traincrew.apimachinery.resource_info import Object

KIB = 1024


@dataclasses.dataclass(frozen=True)
class Machine:
    cpus: int
    memory: int
    """Bytes."""
    disk: int
    """Bytes of the file system that pods write to."""
    devices: Mapping[str, int]
    """Extended resources by name, such as nvidia.com/gpu."""
    boot_id: str
    machine_id: str
    os_image: str

    @property
    def allocatable(self) -> dict[str, str]:
        """What a container without limits may take."""
        return {"cpu": str(self.cpus), "memory": str(self.memory), "ephemeral-storage": str(self.disk)}

    @staticmethod
    def look(data: pathlib.Path, devices: Mapping[str, int]) -> Machine:
        return Machine(
            cpus=len(os.sched_getaffinity(0)),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            disk=shutil.disk_usage(data).total,
            devices=devices,
            boot_id=_line("/proc/sys/kernel/random/boot_id"),
            machine_id=_line("/etc/machine-id"),
            os_image=_os_name(),
        )


def _line(path: str) -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"


@dataclasses.dataclass(frozen=True)
class NodeIdentity:
    """Where and as what the agent serves."""

    name: str
    address: str
    """At which API servers reach its endpoints."""
    port: int
    version: str
    pods: int = 1000
    """Most pods at a time."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)


def labels(place: NodeIdentity) -> dict[str, str]:
    arch = architecture()
    return {
        "kubernetes.io/hostname": place.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": arch,
        **place.labels,
    }


def architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def status(machine: Machine, place: NodeIdentity, conditions: list[Object]) -> Object:
    capacity = {
        "cpu": str(machine.cpus),
        "memory": f"{machine.memory // KIB}Ki",
        "ephemeral-storage": f"{machine.disk // KIB}Ki",
        "pods": str(place.pods),
        **{name: str(count) for name, count in machine.devices.items()},
    }
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": conditions,
        "addresses": [{"type": "InternalIP", "address": place.address}, {"type": "Hostname", "address": _host(place)}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": place.port}},
        "nodeInfo": _info(machine, place),
    }


def _host(place: NodeIdentity) -> str:
    """API servers may call nodes by this, and a name that was made up leads nowhere."""
    return place.name if place.name == platform.node().lower() else place.address


def _info(machine: Machine, place: NodeIdentity) -> Object:
    return {
        "machineID": machine.machine_id, "systemUUID": machine.machine_id, "bootID": machine.boot_id,
        "kernelVersion": platform.release(), "osImage": machine.os_image, "operatingSystem": "linux",
        "architecture": architecture(), "containerRuntimeVersion": f"traincrew://{place.version}",
        "kubeletVersion": f"traincrew-{place.version}", "kubeProxyVersion": "",
    }  # fmt: skip
