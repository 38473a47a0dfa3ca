"""The garbage collector of Kubernetes: background and foreground deletion of dependents, and orphaning."""

from __future__ import annotations

import logging

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import partial_metadata, reconcile_loop
from traincrew.embedded.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Graph, GraphNode
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.partial_metadata import PartialObjectMetadata
from traincrew.model.meta import OwnerReference
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)


class _UnknownOwnerKind(Exception):
    """No resource is served for the kind of an owner."""


class GarbageCollector:
    def __init__(self, client: interfaces.Client, informers: MetadataInformers) -> None:
        self._client, self._informers = client, informers
        self._graph = Graph()
        self._queue: WorkQueue[str] = WorkQueue()
        self._unknown_owners: set[str] = set()
        """UIDs of objects with an owner of an unknown kind; reconciled again when another resource is served."""
        informers.listeners.append(self._object_changed)

    async def run(self) -> None:
        # Without all dependents, orphaning and foreground deletion would end too early.
        await self._informers.synced()
        await reconcile_loop.run("garbage-collector", self._queue, self._reconcile, workers=1)

    def resources_changed(self) -> None:
        for uid in self._unknown_owners:
            self._queue.add(uid)
        self._unknown_owners.clear()

    def _object_changed(self, resource: Resource, old: PartialObjectMetadata | None, new: PartialObjectMetadata | None) -> None:
        if new is not None:
            affected = self._graph.put(GraphNode(resource, new.metadata))
        else:
            affected = self._graph.remove(old.metadata.uid) if old is not None else ()
        for uid in affected:
            if self._graph.get(uid) is not None:
                self._queue.add(uid)

    async def _reconcile(self, uid: str) -> None:
        node = self._graph.get(uid)
        if node is None:
            return
        if node.waits_for(ORPHAN):
            await self._orphan_dependents(node)
        elif node.waits_for(FOREGROUND):
            await self._delete_dependents(node)
        elif node.owners and not node.is_deleting:
            try:
                await self._delete_if_unowned(node)
            except _UnknownOwnerKind as error:
                self._unknown_owners.add(uid)
                log.warning("owner of unknown kind", extra={"object": _title(node), "error": str(error)})

    async def _delete_if_unowned(self, node: GraphNode) -> None:
        """Deletes the object unless it has a solid owner: one that exists and does not wait for its dependents."""
        solid, waiting, dangling = [], [], []
        for reference in node.owners:
            owner = await self._owner(node, reference)
            if owner is None:
                dangling.append(reference)
            elif owner.waits_for(FOREGROUND):
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            if dangling or waiting:
                await self._remove_owners(node, {reference.uid for reference in (*dangling, *waiting)})
            return
        has_dependents = bool(self._graph.dependents(node.uid))
        policy = "Foreground" if waiting and has_dependents else "Background"
        await self._client.delete(node.resource, node.meta.namespace or None, node.meta.name, uid=node.uid, propagation=policy)
        log.info("deleted object without owner", extra={"resource": node.resource.plural, "object": _title(node)})

    async def _owner(self, node: GraphNode, reference: OwnerReference) -> GraphNode | None:
        if (known := self._graph.get(reference.uid)) is not None:
            # A reference to an object in another namespace is void: it must not keep the dependent alive.
            return known if known.meta.namespace in ("", node.meta.namespace) else None
        resource = self._resource_of(reference)
        try:
            body = await self._client.get(resource, node.meta.namespace if resource.namespaced else None, reference.name)
        except errors.NotFound:
            return None
        owner = GraphNode(resource, partial_metadata.decode(body).metadata)
        return owner if owner.uid == reference.uid else None

    def _resource_of(self, reference: OwnerReference) -> Resource:
        group = reference.api_version.rpartition("/")[0]
        for resource in self._informers.resources():
            if (resource.kind, resource.group) == (reference.kind, group):
                return resource
        raise _UnknownOwnerKind(f"no resource is served for owner {reference.api_version} {reference.kind}")

    async def _delete_dependents(self, node: GraphNode) -> None:
        blocking = [each for each in self._graph.dependents(node.uid) if each.blocks(node.uid)]
        if not blocking:
            await self._remove_finalizer(node, FOREGROUND)
        for dependent in blocking:
            if not dependent.is_deleting:
                self._queue.add(dependent.uid)

    async def _orphan_dependents(self, node: GraphNode) -> None:
        for dependent in self._graph.dependents(node.uid):
            await self._remove_owners(dependent, {node.uid})
        await self._remove_finalizer(node, ORPHAN)

    async def _remove_owners(self, node: GraphNode, uids: set[str]) -> None:
        left = [each for each in node.owners if each.uid not in uids]
        await self._patch(node, {"ownerReferences": [msgspec.to_builtins(each) for each in left] or None})

    async def _remove_finalizer(self, node: GraphNode, finalizer: str) -> None:
        left = [each for each in node.meta.finalizers if each != finalizer]
        await self._patch(node, {"finalizers": left or None})

    async def _patch(self, node: GraphNode, changes: dict[str, object]) -> None:
        meta = {"uid": node.uid, "resourceVersion": node.meta.resource_version, **changes}
        body = msgspec.json.encode({"metadata": meta})
        await self._client.patch(node.resource, node.meta.namespace or None, node.meta.name, body)


def _title(node: GraphNode) -> str:
    return f"{node.meta.namespace}/{node.meta.name}"
