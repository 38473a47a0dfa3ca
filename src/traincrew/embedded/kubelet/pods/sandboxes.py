"""Creates, finds and stops the sandboxes of pods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pathlib
from typing import NamedTuple

import msgspec

from traincrew.client import clock
from traincrew.embedded import private_files
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.sandbox_config import SandboxConfigBuilder
from traincrew.embedded.kubelet.pods.sandbox_losses import SandboxLosses
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory, SandboxRecord
from traincrew.embedded.kubelet.runtime import runtime

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 10.0


class CreatedSandbox(NamedTuple):
    shim: runtime.ShimClient
    address: str


class Sandboxes:
    def __init__(
        self,
        template: runtime.TemplateClient,
        network: PodNetwork,
        devices: DeviceAssignments,
        config: SandboxConfigBuilder,
        boot_id: str,
        unremoved: pathlib.Path,
    ) -> None:
        """unremoved: for directories that cannot be removed."""
        self._template, self._network, self._devices, self._config = template, network, devices, config
        self.boot_id = boot_id
        self._unremoved = UnremovedDirectories(unremoved, template.remove)
        self.losses = SandboxLosses()

    async def create(self, pod: ManagedPod) -> CreatedSandbox:
        """Raises OSError, ContainerRuntimeError, AddressesExhausted, HostnameTooLong, InsufficientDevices or
        DevicesExceedCapacity."""
        record = self._write_record(pod)
        address = self.address(record)
        self._devices.assign(pod.object, pod.directory)
        pod.directory.write_etc(self._config.build_etc_files(pod.object, address, self._network.gateway))
        shim = await self._template.fork(self._config.build(pod.object, pod.directory))
        await self._network.attach(shim.pid, record)
        return CreatedSandbox(shim, address)

    def _write_record(self, pod: ManagedPod) -> SandboxRecord:
        record, metadata = pod.directory.sandbox(), pod.object["metadata"]
        if record is not None and record.boot_id == self.boot_id and not pod.directory.sandbox_stopped():
            # The sandbox is created again for the same pod, which keeps its address.
            record = msgspec.structs.replace(record, created=clock.now().isoformat())
        else:
            address = self._network.allocate(pod.object)
            record = SandboxRecord(
                metadata["namespace"], metadata["name"], metadata["uid"], address, self.boot_id, clock.now().isoformat(),
                host_network=not address,
            )  # fmt: skip
            pod.directory.create()
        pod.directory.write_sandbox(record)
        return record

    def address(self, record: SandboxRecord) -> str:
        return record.address or self._network.node_address

    async def reconnect(self, directory: PodStateDirectory, record: SandboxRecord) -> runtime.ShimClient:
        """ShimGone: nothing of the pod lives any more. Raises ShimNotResponding or OSError: the pod lives."""
        try:
            shim = await runtime.ShimClient.connect(directory.path, RECONNECT_SECONDS)
        except runtime.ShimGone:
            await self.clean_up_lost(directory)
            raise
        await self._network.attach(shim.pid, record)
        return shim

    async def stop(self, directory: PodStateDirectory, shim: runtime.ShimClient | None) -> None:
        """Returns when no process of the pod is left. Raises OSError."""
        record = directory.sandbox()
        if record is not None:
            directory.mark_sandbox_stopped()
        self._devices.release(directory.uid)
        if not await _stop_shim(directory, shim):
            await asyncio.to_thread(runtime.end_pod_processes, directory.path)
        await self._network.detach(record)

    async def kill(self, directory: PodStateDirectory) -> None:
        """Ends all processes of a pod at once, whatever state it is in. Raises OSError."""
        if directory.sandbox() is not None:
            directory.mark_sandbox_stopped()
        await asyncio.to_thread(runtime.end_pod_processes, directory.path)

    def release_devices(self, uid: str) -> None:
        self._devices.release(uid)

    async def clean_up_lost(self, directory: PodStateDirectory) -> None:
        """Ends all processes of a pod whose shim is gone or does not answer. ProcessesLeft: the pod lives on."""
        await asyncio.to_thread(runtime.end_pod_processes, directory.path)
        with contextlib.suppress(OSError):
            await self._network.detach(directory.sandbox())

    async def remove(self, directory: PodStateDirectory) -> None:
        """Removes the directory of a stopped sandbox and releases its address."""
        record = directory.sandbox()
        self._devices.release(directory.uid)
        if runtime.has_shim(directory.path):  # of a sandbox whose creation failed
            await asyncio.to_thread(runtime.end_pod_processes, directory.path)
        try:
            await self._template.remove_pod(directory.path)
        except ConnectionError:
            raise
        except OSError as error:
            self._unremoved.set_aside(directory, error)
        self._network.release(record)

    async def remove_orphan(self, directory: PodStateDirectory) -> None:
        """Removes the stopped sandbox of a pod that the API no longer has. Raises OSError."""
        await volumes.release_memory(volumes.VolumeHost(directory.path), self._template.remove)
        await self.remove(directory)

    async def retry_removals(self) -> None:
        await self._unremoved.retry()


async def _stop_shim(directory: PodStateDirectory, shim: runtime.ShimClient | None) -> bool:
    """Returns whether the shim has confirmed that no process of the pod is left."""
    try:
        if shim is None or not shim.is_connected:
            shim = await runtime.ShimClient.connect(directory.path, RECONNECT_SECONDS)
    except (runtime.ShimGone, runtime.ShimNotResponding):
        return False
    try:
        return await shim.stop()
    finally:
        shim.close()


class UnremovedDirectories:
    """Directories of deleted pods that could not be removed, for example because something is mounted in them.

    They are set aside, so that they are not in the way of other pods and of the next start. `traincrew doctor` reports them.
    """

    def __init__(self, root: pathlib.Path, remove: volumes.Remove) -> None:
        self._root, self._remove = root, remove

    def set_aside(self, directory: PodStateDirectory, reason: OSError) -> None:
        """Raises OSError."""
        log.error("directory of a deleted pod not removed", extra={"directory": str(directory.path), "error": str(reason)})
        private_files.ensure_directory(self._root)
        os.rename(directory.path, self._root / directory.uid)

    async def retry(self) -> None:
        for path in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            try:
                await self._remove(path)
            except OSError as error:
                log.error("directory of a deleted pod not removed", extra={"directory": str(path), "error": str(error)})
