"""The runtime's interface for the kubelet: everything that the pod workers use of it."""

from __future__ import annotations

from traincrew.embedded.kubelet.runtime.client.dead_shim import clean_up as clean_up_dead_shim
from traincrew.embedded.kubelet.runtime.client.shim_client import ContainerStatus, ContainerUsage, ShimClient, read_exit
from traincrew.embedded.kubelet.runtime.client.template_client import TemplateClient
from traincrew.embedded.kubelet.runtime.errors import (
    ContainerNotRunning,
    ContainerRuntimeError,
    CreateSandboxError,
    ShimGone,
    StartContainerError,
)
from traincrew.embedded.kubelet.runtime.streaming import ExecFailed

__all__ = [
    "ContainerNotRunning",
    "ContainerRuntimeError",
    "ContainerStatus",
    "ContainerUsage",
    "CreateSandboxError",
    "ExecFailed",
    "ShimClient",
    "ShimGone",
    "StartContainerError",
    "TemplateClient",
    "clean_up_dead_shim",
    "read_exit",
]
