"""The runtime's interface for the kubelet: everything that the pod workers use of it."""

from __future__ import annotations

from traincrew.embedded.kubelet.runtime.client.orphan_cleanup import ProcessesLeft, has_shim
from traincrew.embedded.kubelet.runtime.client.orphan_cleanup import end as end_pod_processes
from traincrew.embedded.kubelet.runtime.client.shim_client import ShimClient
from traincrew.embedded.kubelet.runtime.client.shim_records import ContainerUsage, read_exit
from traincrew.embedded.kubelet.runtime.client.template_client import TemplateClient
from traincrew.embedded.kubelet.runtime.errors import (
    ContainerNotRunning,
    ContainerRuntimeError,
    CreateSandboxError,
    ShimGone,
    ShimNotResponding,
    StartContainerError,
)
from traincrew.embedded.kubelet.runtime.streaming import ExecFailed

__all__ = [
    "ContainerNotRunning",
    "ContainerRuntimeError",
    "ContainerUsage",
    "CreateSandboxError",
    "ExecFailed",
    "ProcessesLeft",
    "ShimClient",
    "ShimGone",
    "ShimNotResponding",
    "StartContainerError",
    "TemplateClient",
    "end_pod_processes",
    "has_shim",
    "read_exit",
]
