"""What the agent needs of a pod's processes."""

from __future__ import annotations

from traincrew.embedded.kubelet.runtime.cleanup import clear as clear_remains
from traincrew.embedded.kubelet.runtime.container_streams import ExecFailed
from traincrew.embedded.kubelet.runtime.errors import NotRunning, SandboxError, SandboxFailed, ShimGone, StartFailed
from traincrew.embedded.kubelet.runtime.shim_client import Shim, State, Usage, exit_of
from traincrew.embedded.kubelet.runtime.template_client import Template

__all__ = [
    "ExecFailed",
    "NotRunning",
    "SandboxError",
    "SandboxFailed",
    "Shim",
    "ShimGone",
    "StartFailed",
    "State",
    "Template",
    "Usage",
    "clear_remains",
    "exit_of",
]
