"""What can go wrong with a pod's processes, for the agent."""

from __future__ import annotations


class ContainerRuntimeError(Exception):
    pass


class ShimGone(ContainerRuntimeError):
    """There is no shim any more, and so no process of the pod."""


class CreateSandboxError(ContainerRuntimeError):
    """The pod's namespaces could not be had; nothing was left behind."""


class StartContainerError(ContainerRuntimeError):
    """The container could not be started; nothing of it runs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class ContainerNotRunning(ContainerRuntimeError):
    """What was asked for needs a container that runs."""
