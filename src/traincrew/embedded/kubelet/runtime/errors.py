"""What can go wrong with a pod's processes, for the agent."""

from __future__ import annotations


class SandboxError(Exception):
    pass


class ShimGone(SandboxError):
    """There is no shim any more, and so no process of the pod."""


class SandboxFailed(SandboxError):
    """The pod's namespaces could not be had; nothing was left behind."""


class StartFailed(SandboxError):
    """The container could not be started; nothing of it runs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class NotRunning(SandboxError):
    """What was asked for needs a container that runs."""
