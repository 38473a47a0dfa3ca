"""Informers of the metadata of every served resource. They start and stop with the resource's CRD."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from traincrew.client import interfaces, listeners
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import InformerStore
from traincrew.embedded.controllers import partial_metadata
from traincrew.embedded.controllers.partial_metadata import PartialObjectMetadata
from traincrew.model.resources import Resource
from traincrew.serving import background_tasks

Listener = Callable[[Resource, PartialObjectMetadata | None, PartialObjectMetadata | None], None]
"""Called with the resource and the object before and after; one of them is None if it was created or deleted."""


class _Started(NamedTuple):
    informer: Informer[PartialObjectMetadata]
    task: asyncio.Task[None]


class MetadataInformers:
    def __init__(self, reader: interfaces.Reader, resources: Callable[[], Iterable[Resource]]) -> None:
        """resources: those that can be listed and watched now, each in one version."""
        self.listeners: list[Listener] = []
        self.resources = resources
        self._reader = reader
        self._started: dict[Resource, _Started] = {}
        self._resources_changed = asyncio.Event()
        self._started_once = asyncio.Event()

    def resources_changed(self) -> None:
        self._resources_changed.set()

    async def run(self) -> None:
        try:
            while True:
                self._resources_changed.clear()
                self._start_and_stop(set(self.resources()))
                self._started_once.set()
                await self._resources_changed.wait()
        finally:
            await background_tasks.cancel(*(started.task for started in self._started.values()))
            self._started.clear()

    async def synced(self) -> None:
        """Waits until the objects that exist at the start are known."""
        await self._started_once.wait()
        for started in list(self._started.values()):
            await started.informer.synced.wait()

    def count(self, resource: Resource, namespace: str) -> int | None:
        """The number of objects in a namespace; None: the resource is not watched, or not listed yet."""
        started = self._started.get(resource)
        if started is None or not started.informer.synced.is_set():
            return None
        return sum(obj.metadata.namespace == namespace for obj in started.informer.store)

    def _start_and_stop(self, served: set[Resource]) -> None:
        for resource in served - self._started.keys():
            self._started[resource] = self._start(resource)
        for resource in self._started.keys() - served:
            started = self._started.pop(resource)
            started.task.cancel()
            for obj in list(started.informer.store):
                self._notify(resource, obj, None)

    def _start(self, resource: Resource) -> _Started:
        store = InformerStore(partial_metadata.decode, lambda old, new: self._notify(resource, old, new))
        informer = Informer(self._reader, Scope(resource), store)
        return _Started(informer, background_tasks.start(informer.run()))

    def _notify(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        listeners.notify(self.listeners, resource, old, new)
