"""The CRD finalizer: deletes the custom resources of a terminating CustomResourceDefinition, then its finalizer."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.namespaces import CONTENT_RETRY, delete_collection
from traincrew.embedded.controllers.partial_metadata import PartialObjectMetadata
from traincrew.model.resources import CRDS, Resource

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class CRDFinalizer:
    def __init__(self, client: interfaces.Client, informers: MetadataInformers) -> None:
        self._client = client
        self._queue: WorkQueue[str] = WorkQueue()
        informers.listeners.append(self._object_changed)

    async def run(self) -> None:
        await reconcile_loop.run("crd-finalizer", self._queue, self._reconcile)

    def _object_changed(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        if resource == CRDS and new is not None and new.metadata.deletion_timestamp is not None:
            self._queue.add(new.metadata.name)

    async def _reconcile(self, name: str) -> float | None:
        try:
            crd = msgspec.json.decode(await self._client.get(CRDS, None, name))
        except errors.NotFound:
            return None
        meta, spec, names = crd["metadata"], crd["spec"], crd["spec"]["names"]
        if "deletionTimestamp" not in meta or FINALIZER not in (meta.get("finalizers") or ()):
            return None
        version = next(each["name"] for each in spec["versions"] if each["served"])
        resource = Resource(spec["group"], version, names["plural"], names["kind"], spec["scope"] == "Namespaced")
        if await delete_collection(self._client, resource, None):
            return CONTENT_RETRY
        left = [each for each in meta["finalizers"] if each != FINALIZER]
        changes = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "finalizers": left or None}
        await self._client.patch(CRDS, None, name, msgspec.json.encode({"metadata": changes}))
        return None
