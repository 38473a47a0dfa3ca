"""Errors of the container runtime.

::

    ContainerRuntimeError       what the kubelet catches
    ├── ShimGone                the connection to the shim has ended; the shim need not have
    ├── ShimNotResponding       the shim lives, but does not answer in time
    ├── CreateSandboxError      the pod's namespaces or its shim could not be created
    ├── StartContainerError     the container was not started
    └── ContainerNotRunning     the operation needs a running container
    OperationFailed             inside the shim: becomes the error response of a request
"""

from __future__ import annotations


class ContainerRuntimeError(Exception):
    pass


class ShimGone(ContainerRuntimeError):
    """The connection to the shim has ended. The shim and the processes of the pod may live on."""


class ShimNotResponding(ContainerRuntimeError):
    """The shim lives, but does not answer in time. It may have executed the request."""


class CreateSandboxError(ContainerRuntimeError):
    """The pod sandbox could not be created. Nothing of it is left."""


class StartContainerError(ContainerRuntimeError):
    """The container was not started. None of its processes runs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class ContainerNotRunning(ContainerRuntimeError):
    """The operation needs a running container."""


class OperationFailed(Exception):
    """A request to the shim failed. `reason` is one word, as the kubelet shows it in events and statuses."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
