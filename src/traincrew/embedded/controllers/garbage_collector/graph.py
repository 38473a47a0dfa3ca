"""The graph of owner references: objects by UID, and the dependents of each owner. PURE."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from traincrew.embedded.controllers.partial_metadata import ObjectMeta
from traincrew.model.meta import OwnerReference
from traincrew.model.resources import Resource

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""The finalizers that the API server sets for the propagation policies Orphan and Foreground."""


@dataclasses.dataclass(frozen=True)
class GraphNode:
    resource: Resource
    meta: ObjectMeta

    @property
    def uid(self) -> str:
        return self.meta.uid

    @property
    def owners(self) -> list[OwnerReference]:
        return self.meta.owner_references

    @property
    def is_deleting(self) -> bool:
        return self.meta.deletion_timestamp is not None

    def waits_for(self, finalizer: str) -> bool:
        return self.is_deleting and finalizer in self.meta.finalizers

    def blocks(self, owner: str) -> bool:
        """Whether the foreground deletion of that owner waits for this object."""
        return any(each.uid == owner and bool(each.block_owner_deletion) for each in self.owners)


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._dependents: dict[str, set[str]] = {}

    def get(self, uid: str) -> GraphNode | None:
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[GraphNode]:
        return [self._nodes[each] for each in self._dependents.get(uid, ()) if each in self._nodes]

    def put(self, node: GraphNode) -> Iterable[str]:
        """Adds or updates an object. Returns the UIDs of the objects to reconcile."""
        known = self._nodes.get(node.uid)
        if known is not None:
            self._remove_edges(known)
        self._nodes[node.uid] = node
        affected: list[str] = []
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.uid)
            if node.is_deleting:
                affected.append(owner.uid)
        if node.owners or node.waits_for(ORPHAN) or node.waits_for(FOREGROUND):
            affected.append(node.uid)
        if node.waits_for(FOREGROUND):
            affected += self._dependents.get(node.uid, ())
        return affected

    def remove(self, uid: str) -> Iterable[str]:
        """Removes an object. Returns the UIDs of the objects to reconcile: its owners and its dependents."""
        node = self._nodes.pop(uid, None)
        affected: list[str] = []
        if node is not None:
            self._remove_edges(node)
            affected += [owner.uid for owner in node.owners]
        return [*affected, *self._dependents.get(uid, ())]

    def _remove_edges(self, node: GraphNode) -> None:
        for owner in node.owners:
            dependents = self._dependents.get(owner.uid, set())
            dependents.discard(node.uid)
            if not dependents:
                self._dependents.pop(owner.uid, None)
