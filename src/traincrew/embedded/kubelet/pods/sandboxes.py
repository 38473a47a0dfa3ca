"""Creates, finds and stops the sandboxes of pods."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from typing import NamedTuple

import msgspec

from traincrew.client import clock
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.sandbox_config import SandboxConfigBuilder
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory, SandboxRecord
from traincrew.embedded.kubelet.pods.unremoved_directories import UnremovedDirectories
from traincrew.embedded.kubelet.runtime import runtime


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

    async def create(self, pod: ManagedPod) -> CreatedSandbox:
        """Raises OSError, ContainerRuntimeError, AddressesExhausted, InsufficientDevices or DevicesExceedCapacity."""
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
            record = msgspec.structs.replace(record, made=clock.now().isoformat())
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
        """Raises ShimGone or OSError."""
        shim = await runtime.ShimClient.connect(directory.path)
        await self._network.attach(shim.pid, record)
        return shim

    async def stop(self, directory: PodStateDirectory, shim: runtime.ShimClient | None) -> None:
        """Raises OSError."""
        record = directory.sandbox()
        if record is not None:
            directory.mark_sandbox_stopped()
        self._devices.release(directory.uid)
        if shim is None:
            with contextlib.suppress(runtime.ShimGone):
                shim = await runtime.ShimClient.connect(directory.path)
        if shim is not None:
            with contextlib.suppress(runtime.ShimGone):
                await shim.stop()
        await self._network.detach(record)

    def release_devices(self, uid: str) -> None:
        self._devices.release(uid)

    async def clean_up_lost(self, directory: PodStateDirectory) -> None:
        """Removes what a lost shim has left behind."""
        await asyncio.to_thread(runtime.clean_up_dead_shim, directory.path)
        with contextlib.suppress(OSError):
            await self._network.detach(directory.sandbox())

    async def remove(self, directory: PodStateDirectory) -> None:
        """Removes the directory of a stopped sandbox and releases its address."""
        record = directory.sandbox()
        self._devices.release(directory.uid)
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
