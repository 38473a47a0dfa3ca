"""The namespace controller: deletes the content of a terminating namespace, then finalizes the namespace."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.partial_metadata import PartialObjectMetadata
from traincrew.model.resources import NAMESPACES, Resource

FINALIZER = "kubernetes"
CONTENT_RETRY = 0.5
"""Seconds until a namespace is reconciled again whose objects are still terminating."""
WORKERS = 10


class NamespaceController:
    def __init__(
        self, client: interfaces.Client, informers: MetadataInformers, deletable: Callable[[], Iterable[Resource]]
    ) -> None:
        """deletable: the resources whose objects are deleted with their namespace."""
        self._client, self._deletable = client, deletable
        self._queue: WorkQueue[str] = WorkQueue()
        informers.listeners.append(self._object_changed)

    async def run(self) -> None:
        await reconcile_loop.run("namespace", self._queue, self._reconcile, WORKERS)

    def _object_changed(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        if resource == NAMESPACES and new is not None and new.metadata.deletion_timestamp is not None:
            self._queue.add(new.metadata.name)

    async def _reconcile(self, name: str) -> float | None:
        try:
            namespace = msgspec.json.decode(await self._client.get(NAMESPACES, None, name))
        except errors.NotFound:
            return None
        if "deletionTimestamp" not in namespace["metadata"]:
            return None  # another namespace of that name
        remaining = 0
        for resource in [each for each in self._deletable() if each.namespaced]:
            remaining += await delete_collection(self._client, resource, name)
        if remaining:
            return CONTENT_RETRY
        finalizers = namespace.get("spec", {}).get("finalizers") or ()
        if FINALIZER in finalizers:
            namespace["spec"] = {"finalizers": [each for each in finalizers if each != FINALIZER]}
            await self._client.replace(NAMESPACES, None, name, msgspec.json.encode(namespace), "finalize")
        return None


async def delete_collection(client: interfaces.Client, resource: Resource, namespace: str | None) -> int:
    """Deletes all objects of a resource. Returns how many there were, terminating ones included."""
    count = 0
    async for page in client.pages(resource, namespace):
        for item in page.items:
            meta = msgspec.json.decode(item)["metadata"]
            count += 1
            if not meta.get("deletionTimestamp"):
                with contextlib.suppress(errors.NotFound, errors.Conflict):
                    await client.delete(resource, meta.get("namespace"), meta["name"], uid=meta["uid"])
    return count
