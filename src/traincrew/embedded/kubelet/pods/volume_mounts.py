"""The volumes of one pod: mounted once, refreshed when their objects change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.lifecycle.steps import PodEvent
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory

FS_GROUP_NOT_APPLIED = "FSGroupNotApplied"
"""The reason of an event: the pod runs, but the files of a volume do not belong to its group."""
HostOf = Callable[[PodStateDirectory], volumes.VolumeHost]


class VolumeMounts:
    def __init__(
        self,
        directory: PodStateDirectory,
        objects: ObjectSource,
        recorder: PodEventRecorder,
        host: HostOf,
        remove: volumes.Remove,
    ) -> None:
        self._directory, self._objects, self._recorder, self._host, self._remove = directory, objects, recorder, host, remove
        self._mounted: volumes.MountedVolumes | None = None
        self._adopted = self._unmounted = False
        self._lock = asyncio.Lock()
        """Held while files are written: an earlier read must not overwrite a later one, and no change is missed meanwhile."""

    async def mounted(self, pod: Object) -> volumes.MountedVolumes:
        """Mounts the volumes unless they are mounted. Raises VolumeError or ApiError."""
        return self._mounted or await self.mount(pod)

    async def mount(self, pod: Object) -> volumes.MountedVolumes:
        """Raises VolumeError or ApiError."""
        async with self._lock:
            return await self._mount(pod)

    async def _mount(self, pod: Object) -> volumes.MountedVolumes:
        self._directory.create()
        self._mounted = await volumes.mount(pod, self._objects, self._host(self._directory))
        for note in self._mounted.notes:
            event = PodEvent(f"{FS_GROUP_NOT_APPLIED}/{note}", "Warning", FS_GROUP_NOT_APPLIED, note)
            self._recorder.event(pod, event, clock.now())
        return self._mounted

    async def adopt(self, pod: Object) -> None:
        """For volumes that a previous daemon mounted. Raises like `mount`; then the next refresh retries."""
        self._adopted = True
        await self.mount(pod)

    async def refresh(self, pod: Object) -> None:
        """Updates the files of ConfigMaps, Secrets and tokens. Raises like `mount`."""
        async with self._lock:
            if self._unmounted:
                return  # the object changed while the pod was being removed
            if self._mounted is not None:
                await volumes.refresh(pod, self._objects, self._host(self._directory))
            elif self._adopted:
                await self._mount(pod)

    async def release_memory(self) -> None:
        """Raises OSError."""
        await volumes.release_memory(self._host(self._directory), self._remove)

    async def unmount(self, pod: Object) -> None:
        """Raises OSError."""
        self._unmounted = True
        await volumes.unmount(pod, self._objects, self._host(self._directory), self._remove)
