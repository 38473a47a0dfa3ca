"""Informers of the metadata of every served resource. They start and stop with the resource's CRD."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import Store
from traincrew.model import meta
from traincrew.model.resources import Resource


class ObjectMeta(meta.Meta):
    finalizers: list[str] = []


class PartialObjectMetadata(meta.Struct):
    metadata: ObjectMeta = ObjectMeta()


Listener = Callable[[Resource, PartialObjectMetadata | None, PartialObjectMetadata | None], None]
"""Called with the resource and the object before and after; one of them is None if it was created or deleted."""


class _Fields(msgspec.Struct, rename="camel"):
    """The fields that are kept: labels and annotations of all objects would need much memory."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: list[meta.OwnerReference] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: meta.Time | None = None


class _Object(msgspec.Struct):
    metadata: _Fields


_decode = msgspec.json.Decoder(_Object).decode


_EMPTY_MAP: dict[str, str] = {}


def decode(raw: bytes) -> PartialObjectMetadata:
    fields = _decode(raw).metadata
    return PartialObjectMetadata(
        metadata=ObjectMeta(
            name=fields.name,
            namespace=fields.namespace,
            uid=fields.uid,
            resource_version=fields.resource_version,
            owner_references=fields.owner_references or [],
            finalizers=fields.finalizers or [],
            deletion_timestamp=fields.deletion_timestamp,
            labels=_EMPTY_MAP,
            annotations=_EMPTY_MAP,
        )
    )


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
            tasks = [started.task for started in self._started.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def synced(self) -> None:
        """Waits until the objects that exist at the start are known."""
        await self._started_once.wait()
        for started in list(self._started.values()):
            await started.informer.synced.wait()

    def _start_and_stop(self, served: set[Resource]) -> None:
        for resource in served - self._started.keys():
            self._started[resource] = self._start(resource)
        for resource in self._started.keys() - served:
            started = self._started.pop(resource)
            started.task.cancel()
            for obj in list(started.informer.store):
                self._notify(resource, obj, None)

    def _start(self, resource: Resource) -> _Started:
        store = Store(decode, lambda old, new: self._notify(resource, old, new))
        informer = Informer(self._reader, Scope(resource), store)
        return _Started(informer, asyncio.create_task(informer.run()))

    def _notify(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        for listener in self.listeners:
            listener(resource, old, new)
