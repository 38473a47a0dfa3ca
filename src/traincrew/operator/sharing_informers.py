"""Watches of what a decision about elastic jobs reads. They run only while a job lets the operator choose its workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import InformerStore
from traincrew.model import meta, objects, resources
from traincrew.model.meta import Meta, Struct
from traincrew.model.resources import NODES, RESOURCE_QUOTAS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from traincrew.scheduling import objects as scheduling_objects
from traincrew.scheduling import pod_info
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.volumes import StorageObjects
from traincrew.sharing import termination_notices

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

T = TypeVar("T", bound=meta.Named)


class QuotaSpec(Struct):
    scopes: list[str] = []
    scope_selector: dict[str, Any] | None = None


class QuotaStatus(Struct):
    hard: dict[str, str | int | float] = {}
    used: dict[str, str | int | float] = {}


class Quota(Struct):
    metadata: Meta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class SharingInformers:
    def __init__(self, reader: interfaces.Reader, changed: Callable[[], None]) -> None:
        self._reader, self._changed = reader, changed
        self._informers: list[Informer[Any]] = []
        self.nodes = self._add(Scope(NODES), _decoder(scheduling_objects.Node), _is_node_change)
        self.pods = self._add(Scope(resources.PODS, fields=UNFINISHED), pod_info.decode, _is_pod_change)
        self.quotas = self._add(Scope(RESOURCE_QUOTAS), _decoder(Quota))
        self.autoscalers = self._add(Scope(resources.AUTOSCALERS), _decoder(objects.Autoscaler), _is_other_spec)
        self.priority_classes = self._add(Scope(resources.PRIORITY_CLASSES), _decoder(scheduling_objects.PriorityClass))
        self._claims = self._add(Scope(VOLUME_CLAIMS), _decoder(scheduling_objects.PersistentVolumeClaim), _is_other_claim)
        self._volumes = self._add(Scope(VOLUMES), _decoder(scheduling_objects.PersistentVolume), _is_other_spec)
        self._classes = self._add(Scope(STORAGE_CLASSES), _decoder(scheduling_objects.StorageClass))
        self._namespaces = self._add(Scope(resources.NAMESPACES), _decoder(scheduling_objects.PartialObjectMetadata))

    def _add(
        self, scope: Scope, decode: Callable[[bytes], T], relevant: Callable[[T, T], bool] | None = None
    ) -> InformerStore[T]:
        def on_change(old: T | None, new: T | None) -> None:
            if relevant is None or old is None or new is None or relevant(old, new):
                self._changed()

        store = InformerStore(decode, on_change)
        informer = Informer(self._reader, scope, store)
        informer.on_failure = self._changed
        self._informers.append(informer)
        return store

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())
                group.create_task(self._report(informer))

    async def _report(self, informer: Informer[Any]) -> None:
        await informer.synced.wait()
        self._changed()

    @property
    def storage(self) -> StorageObjects:
        return StorageObjects(
            {(each.metadata.namespace, each.metadata.name): each for each in self._claims},
            {each.metadata.name: each for each in self._volumes},
            {each.metadata.name: each for each in self._classes},
        )

    @property
    def namespaces(self) -> dict[str, dict[str, str]]:
        """The labels of each namespace."""
        return {each.metadata.name: each.metadata.labels for each in self._namespaces}

    @property
    def synced(self) -> bool:
        return all(informer.synced.is_set() for informer in self._informers)

    @property
    def forbidden(self) -> dict[str, errors.Forbidden]:
        """The resources that the operator may not read, with the last answers of the API server."""
        failures = {each.scope.resource.plural: each.failure for each in self._informers}
        return {plural: failure for plural, failure in failures.items() if isinstance(failure, errors.Forbidden)}


def _decoder(type: type[T]) -> Callable[[bytes], T]:
    decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type)
    return decoder.decode


def _is_pod_change(old: PodInfo, new: PodInfo) -> bool:
    return _state(old) != _state(new)


def _state(pod: PodInfo) -> tuple[object, ...]:
    scheduled = pod.status.condition("PodScheduled")
    refused = scheduled.message if scheduled is not None and scheduled.status == "False" else None
    target = pod.status.condition("DisruptionTarget")
    disrupted = target is not None and target.status == "True"
    return (pod.uid, pod.spec.node_name, pod.status.phase, pod.terminating, refused, pod.status.nominated_node_name, disrupted)


def _is_node_change(old: scheduling_objects.Node, new: scheduling_objects.Node) -> bool:
    """Not the heartbeats."""
    return _node_state(old) != _node_state(new)


def _node_state(node: scheduling_objects.Node) -> tuple[object, ...]:
    return (node.spec, node.status.allocatable, node.metadata.labels, termination_notices.find(node, ()))


class _Specified(Protocol):
    @property
    def spec(self) -> object: ...


def _is_other_spec(old: _Specified, new: _Specified) -> bool:
    return old.spec != new.spec


def _is_other_claim(old: scheduling_objects.PersistentVolumeClaim, new: scheduling_objects.PersistentVolumeClaim) -> bool:
    return (old.spec, old.status) != (new.spec, new.status) or new.metadata.deletion_timestamp is not None
