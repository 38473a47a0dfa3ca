"""The informers of the scheduler, and the notification that a new scheduling cycle is necessary."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import InformerStore
from traincrew.model import meta, resources
from traincrew.model.resources import NODES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES, Resource
from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.decisions import SchedulingContext
from traincrew.scheduling.gangs import PLUGINS, VOLCANO, GangKey
from traincrew.scheduling.volumes import StorageObjects

log = logging.getLogger(__name__)

POD_GROUPS = {VOLCANO: resources.VOLCANO_POD_GROUPS, PLUGINS: resources.PLUGINS_POD_GROUPS}

T = TypeVar("T", bound=meta.Named)


class SchedulerInformers:
    def __init__(self, reader: interfaces.Reader, changed: Callable[[], None]) -> None:
        self._reader, self._changed = reader, changed
        self._informers: list[Informer[Any]] = []
        self.pods = self._add(resources.PODS, pod_info.decode, _is_relevant_pod_change)
        self.nodes = self._add(NODES, _decoder(objects.Node), _is_relevant_node_change)
        self._claims = self._add(VOLUME_CLAIMS, _decoder(objects.PersistentVolumeClaim))
        self._volumes = self._add(VOLUMES, _decoder(objects.PersistentVolume))
        self._classes = self._add(STORAGE_CLASSES, _decoder(objects.StorageClass))
        self._priorities = self._add(resources.PRIORITY_CLASSES, _decoder(objects.PriorityClass))
        self._namespaces = self._add(resources.NAMESPACES, _decoder(objects.PartialObjectMetadata))
        self._crds = InformerStore(_decoder(objects.PartialObjectMetadata), self._crd_changed)
        self._informers.append(Informer(reader, Scope(resources.CRDS), self._crds))
        self._pod_groups: dict[str, _PodGroupInformer] = {}

    def _add(
        self, resource: Resource, decode: Callable[[bytes], T], relevant: Callable[[T, T], bool] | None = None
    ) -> InformerStore[T]:
        def on_change(old: T | None, new: T | None) -> None:
            if relevant is None or old is None or new is None or relevant(old, new):
                self._changed()

        store = InformerStore(decode, on_change)
        self._informers.append(Informer(self._reader, Scope(resource), store))
        return store

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for informer in self._informers:
                    tasks.create_task(informer.run())
        finally:
            for followed in self._pod_groups.values():
                followed.task.cancel()

    async def synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        for followed in list(self._pod_groups.values()):  # started by the CRDs that are synced now
            await followed.informer.synced.wait()

    def _crd_changed(self, old: objects.PartialObjectMetadata | None, new: objects.PartialObjectMetadata | None) -> None:
        """PodGroups are watched only while their CRD is installed."""
        crd = new or old
        name = crd.metadata.name if crd else ""
        for system, resource in POD_GROUPS.items():
            if name == f"{resource.plural}.{resource.group}":
                if new is None:
                    self._stop(system)
                elif system not in self._pod_groups:
                    self._start(system, resource)

    def _start(self, system: str, resource: Resource) -> None:
        store = InformerStore(_decoder(objects.PodGroup), lambda old, new: self._changed())
        informer = Informer(self._reader, Scope(resource), store)
        self._pod_groups[system] = _PodGroupInformer(store, informer, asyncio.get_running_loop().create_task(informer.run()))

    def _stop(self, system: str) -> None:
        if (followed := self._pod_groups.pop(system, None)) is not None:
            followed.task.cancel()
            self._changed()

    def pod_groups(self, system: str) -> InformerStore[objects.PodGroup] | None:
        followed = self._pod_groups.get(system)
        return followed.store if followed else None

    def cluster_state(self, now: dt.datetime) -> SchedulingContext:
        groups = {
            GangKey(system, group.metadata.namespace, group.metadata.name): group
            for system, followed in self._pod_groups.items()
            for group in followed.store
        }
        storage = StorageObjects(
            {(obj.metadata.namespace, obj.metadata.name): obj for obj in self._claims},
            {obj.metadata.name: obj for obj in self._volumes},
            {obj.metadata.name: obj for obj in self._classes},
        )
        priorities = {obj.metadata.name: obj.value for obj in self._priorities}
        namespaces = {obj.metadata.name: obj.metadata.labels for obj in self._namespaces}
        return SchedulingContext(groups, priorities, storage, namespaces, now)


class _PodGroupInformer(NamedTuple):
    store: InformerStore[objects.PodGroup]
    informer: Informer[objects.PodGroup]
    task: asyncio.Task[None]


def _decoder(kind: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(kind).decode


def _is_relevant_pod_change(old: pod_info.PodInfo, new: pod_info.PodInfo) -> bool:
    """Of a running pod's status only the phase matters: PodGroups count it."""
    if new.pending:
        return old.spec != new.spec or old.metadata.labels != new.metadata.labels or not old.pending
    return (old.spec.node_name, old.status.phase, old.terminating) != (new.spec.node_name, new.status.phase, new.terminating)


def _is_relevant_node_change(old: objects.Node, new: objects.Node) -> bool:
    """A heartbeat changes nothing."""
    return (old.spec, old.metadata.labels, old.status) != (new.spec, new.metadata.labels, new.status)
