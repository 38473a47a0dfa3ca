"""This machine as a Node: its resources, its system information and its labels."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import shutil
from collections.abc import Mapping

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded import process_identity

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
        """The limits of a container that has none."""
        return {"cpu": str(self.cpus), "memory": str(self.memory), "ephemeral-storage": str(self.disk)}

    @staticmethod
    def detect(data: pathlib.Path, devices: Mapping[str, int]) -> Machine:
        return Machine(
            cpus=len(os.sched_getaffinity(0)),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            disk=shutil.disk_usage(data).total,
            devices=devices,
            boot_id=process_identity.boot_id(),
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
    """The name and the endpoint of the node."""

    name: str
    address: str
    """The address at which the API server reaches the kubelet."""
    port: int
    version: str
    max_pods: int = 1000
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    authority: str = ""
    """PEM: the authority of its certificate, if the API server cannot know it."""


def labels(identity: NodeIdentity) -> dict[str, str]:
    arch = architecture()
    return {
        "kubernetes.io/hostname": identity.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": arch,
        **identity.labels,
    }


def architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def status(machine: Machine, identity: NodeIdentity, conditions: list[Object]) -> Object:
    capacity = {
        "cpu": str(machine.cpus),
        "memory": f"{machine.memory // KIB}Ki",
        "ephemeral-storage": f"{machine.disk // KIB}Ki",
        "pods": str(identity.max_pods),
        **{name: str(count) for name, count in machine.devices.items()},
    }
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": conditions,
        "addresses": [{"type": "InternalIP", "address": identity.address}, {"type": "Hostname", "address": _hostname(identity)}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": identity.port}},
        "nodeInfo": _node_info(machine, identity),
    }


def _hostname(identity: NodeIdentity) -> str:
    """API servers may connect to this name, so it must resolve."""
    return identity.name if identity.name == platform.node().lower() else identity.address


def _node_info(machine: Machine, identity: NodeIdentity) -> Object:
    return {
        "machineID": machine.machine_id, "systemUUID": machine.machine_id, "bootID": machine.boot_id,
        "kernelVersion": platform.release(), "osImage": machine.os_image, "operatingSystem": "linux",
        "architecture": architecture(), "containerRuntimeVersion": f"traincrew://{identity.version}",
        "kubeletVersion": f"traincrew-{identity.version}", "kubeProxyVersion": "",
    }  # fmt: skip
