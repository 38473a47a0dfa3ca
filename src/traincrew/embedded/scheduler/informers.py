"""Local copies of all that placement looks at, and the sign that something of it has changed."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from traincrew.client import port
from traincrew.client.informer import Informer, OnUndecodable, Scope
from traincrew.client.store import Store
from traincrew.model import meta, resources
from traincrew.model.resources import Resource
from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.decision import Surroundings
from traincrew.scheduling.gangs import PLUGINS, VOLCANO, GangKey
from traincrew.scheduling.volumes import Shelf

log = logging.getLogger(__name__)

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
GROUPS = {VOLCANO: resources.VOLCANO_POD_GROUPS, PLUGINS: resources.PLUGINS_POD_GROUPS}

T = TypeVar("T", bound=meta.Named)


class Copies:
    def __init__(self, reader: port.Reader, changed: Callable[[], None]) -> None:
        self._reader, self._changed = reader, changed
        self._informers: list[Informer[Any]] = []
        self.pods = self._keep(resources.PODS, pod_info.decode, _pod_matters)
        self.nodes = self._keep(NODES, _decoder(objects.Node), _node_matters)
        self._claims = self._keep(CLAIMS, _decoder(objects.Claim))
        self._volumes = self._keep(VOLUMES, _decoder(objects.PersistentVolume))
        self._classes = self._keep(STORAGE_CLASSES, _decoder(objects.StorageClass))
        self._priorities = self._keep(resources.PRIORITY_CLASSES, _decoder(objects.PriorityClass))
        self._namespaces = self._keep(resources.NAMESPACES, _decoder(objects.Labelled))
        self._definitions = Store(_decoder(objects.Labelled), self._defined)
        self._informers.append(Informer(reader, Scope(resources.CRDS), self._definitions))
        self._groups: dict[str, _Followed] = {}

    def _keep(self, resource: Resource, decode: Callable[[bytes], T], matters: Callable[[T, T], bool] | None = None) -> Store[T]:
        def on_change(old: T | None, new: T | None) -> None:
            if matters is None or old is None or new is None or matters(old, new):
                self._changed()

        kept = Store(decode, on_change)
        self._informers.append(Informer(self._reader, Scope(resource), kept, _strange(resource)))
        return kept

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for each in self._informers:
                    tasks.create_task(each.run())
        finally:
            for followed in self._groups.values():
                followed.task.cancel()

    async def synced(self) -> None:
        for each in [*self._informers, *(followed.informer for followed in self._groups.values())]:
            await each.synced.wait()
        for followed in list(self._groups.values()):  # those that the definitions have brought up
            await followed.informer.synced.wait()

    def _defined(self, old: objects.Labelled | None, new: objects.Labelled | None) -> None:
        """PodGroups are looked at only while there are such: to ask for them before would be in vain."""
        told = new or old
        name = told.metadata.name if told else ""
        for system, resource in GROUPS.items():
            if name == f"{resource.plural}.{resource.group}":
                if new is None:
                    self._unfollow(system)
                elif system not in self._groups:
                    self._follow(system, resource)

    def _follow(self, system: str, resource: Resource) -> None:
        kept = Store(_decoder(objects.Group), lambda old, new: self._changed())
        informer = Informer(self._reader, Scope(resource), kept, _strange(resource))
        self._groups[system] = _Followed(kept, informer, asyncio.get_running_loop().create_task(informer.run()))

    def _unfollow(self, system: str) -> None:
        if (followed := self._groups.pop(system, None)) is not None:
            followed.task.cancel()
            self._changed()

    def groups(self, system: str) -> Store[objects.Group] | None:
        followed = self._groups.get(system)
        return followed.store if followed else None

    def around(self, now: dt.datetime) -> Surroundings:
        held = {
            GangKey(system, group.metadata.namespace, group.metadata.name): group
            for system, followed in self._groups.items()
            for group in followed.store
        }
        shelf = Shelf(
            {(each.metadata.namespace, each.metadata.name): each for each in self._claims},
            {each.metadata.name: each for each in self._volumes},
            {each.metadata.name: each for each in self._classes},
        )
        priorities = {each.metadata.name: each.value for each in self._priorities}
        namespaces = {each.metadata.name: each.metadata.labels for each in self._namespaces}
        return Surroundings(held, priorities, shelf, namespaces, now)


class _Followed(NamedTuple):
    store: Store[objects.Group]
    informer: Informer[objects.Group]
    task: asyncio.Task[None]


def _strange(resource: Resource) -> OnUndecodable:
    """An object that makes no sense is left out; the log says which."""

    def tell(raw: bytes, error: Exception) -> None:
        log.warning("an object was left out", extra={"resource": resource.plural, "error": str(error)})

    return tell


def _decoder(kind: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(kind).decode


def _pod_matters(old: pod_info.PodInfo, new: pod_info.PodInfo) -> bool:
    """What a running pod says about itself is of no interest, but for its phase, which PodGroups tell."""
    if new.pending:
        return old.spec != new.spec or old.metadata.labels != new.metadata.labels or not old.pending
    return (old.spec.node_name, old.status.phase, old.terminating) != (new.spec.node_name, new.status.phase, new.terminating)


def _node_matters(old: objects.Node, new: objects.Node) -> bool:
    """A heartbeat is not news."""
    return (old.spec, old.metadata.labels, old.status) != (new.spec, new.metadata.labels, new.status)
