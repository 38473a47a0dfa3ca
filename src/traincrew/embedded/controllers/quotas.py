"""The resource quota controller: keeps `status.used` up to date. Admission in the API server enforces quotas."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from traincrew.apimachinery import quota_usage
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured, decode
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.partial_metadata import PartialObjectMetadata
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import RESOURCE_QUOTAS, Resource

BATCH_PERIOD = 0.5
"""Seconds after a change in which other changes of the namespace are counted too."""
RESYNC = 60.0
"""Seconds after which usage is computed again without a change: some resources, such as leases, are not watched."""


class QuotaController:
    def __init__(
        self, client: interfaces.Client, informers: MetadataInformers, countable: Callable[[], Iterable[Resource]]
    ) -> None:
        """countable: the resources that a quota may limit."""
        self._client, self._informers, self._countable = client, informers, countable
        self._quotas: Lister[Unstructured] = Lister(client, RESOURCE_QUOTAS, decode)
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._quotas.listeners.append(self._quota_changed)
        informers.listeners.append(self._object_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._quotas.informer.run())
            group.create_task(reconcile_loop.run("resourcequota", self._queue, self._reconcile, workers=1))

    def _quota_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._queue.add((new.metadata.namespace, new.metadata.name))

    def _object_changed(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        obj = new or old
        if obj is None or resource == RESOURCE_QUOTAS:
            return
        for quota in self._quotas.in_namespace(obj.metadata.namespace):
            self._queue.add_after((quota.metadata.namespace, quota.metadata.name), BATCH_PERIOD)

    async def _reconcile(self, key: NamespacedName) -> float | None:
        quota = self._quotas.get(*key)
        if quota is None:
            return None
        hard = quota.body.get("spec", {}).get("hard") or {}
        requests = [
            quota_usage.QuotaRequest(each, resource.plural, resource.group)
            for resource in self._countable()
            if resource.namespaced and _is_limited(hard, resource)
            for each in await self._objects(resource, key[0])
        ]
        status = {"hard": hard, "used": quota_usage.total(requests, quota.body)}
        if status != quota.body.get("status"):
            meta = {"uid": quota.metadata.uid, "resourceVersion": quota.metadata.resource_version}
            body = msgspec.json.encode({"metadata": meta, "status": status})
            self._quotas.apply_response(await self._client.patch(RESOURCE_QUOTAS, *key, body, subresource="status"))
        return RESYNC

    async def _objects(self, resource: Resource, namespace: str) -> list[Object]:
        """Objects that are only counted are not read if their number is known."""
        count = self._informers.count(resource, namespace) if quota_usage.is_counted(resource.plural, resource.group) else None
        if count is not None:
            return [{}] * count
        return [msgspec.json.decode(item) async for page in self._client.pages(resource, namespace) for item in page.items]


def _is_limited(hard: Object, resource: Resource) -> bool:
    """Whether usage of these limits depends on objects of the resource."""
    if resource.group:
        return f"count/{resource.plural}.{resource.group}" in hard
    if resource.plural == "pods":
        return True
    storage = resource.plural == "persistentvolumeclaims" and any("storage" in name for name in hard)
    return storage or any(resource.plural in name for name in hard)
