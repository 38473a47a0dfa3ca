"""What the agent needs of a pod's processes."""

from __future__ import annotations

from traincrew.embedded.node.sandbox.contact import Shim, State, Usage, exit_of
from traincrew.embedded.node.sandbox.faults import NotRunning, SandboxError, SandboxFailed, ShimGone, StartFailed
from traincrew.embedded.node.sandbox.forge import Template
from traincrew.embedded.node.sandbox.remains import clear as clear_remains
from traincrew.embedded.streams.containers import ExecFailed

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
