"""One pod that this node runs: its object, its observed state, its sandbox and its directory."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import Callable, Iterator

from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock
from traincrew.embedded.kubelet.lifecycle.observed import ObservedPod, Running
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.runtime import runtime


class ManagedPod:
    """Shared by the worker, the executor, the status manager and the prober of a pod. A `pod_streams.ServedPod`."""

    def __init__(self, pod: Object, directory: PodStateDirectory, host_ip: str, exec_socket: pathlib.Path) -> None:
        self.object = pod
        self.observed = ObservedPod(first_seen=clock.now(), host_ips=(host_ip,))
        self.shim: runtime.ShimClient | None = None
        self.directory = directory
        self.removed = False
        """The object is deleted and nothing of the pod is left on this node."""
        self.changed = asyncio.Event()
        """Set when the pod has to be synced."""
        self._updated = asyncio.Event()
        """Set once for all waiters, then replaced."""
        self._exec_socket = exec_socket

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def full_name(self) -> str:
        """For log fields."""
        metadata = self.object["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    @property
    def address(self) -> str:
        return getattr(self.observed.sandbox, "ip", "")

    def is_running(self, container: str) -> bool:
        return isinstance(self.observed.container(container).state, Running)

    def exec_socket(self) -> str:
        return str(self._exec_socket)

    def set_object(self, pod: Object) -> None:
        self.object = pod
        self.changed.set()

    def update(self, change: Callable[[ObservedPod], ObservedPod]) -> None:
        self.observed = change(self.observed)
        self.changed.set()
        self._updated.set()
        self._updated = asyncio.Event()

    async def wait_for_update(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._updated.wait()

    def container(self, name: str) -> Object:
        """The container's part of the spec."""
        return next(each for each in containers(self.object) if each["name"] == name)


def containers(pod: Object) -> Iterator[Object]:
    """Init containers, containers and ephemeral containers."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod["spec"].get(field, ())
