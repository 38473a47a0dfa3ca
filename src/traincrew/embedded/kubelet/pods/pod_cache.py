"""The pods that are bound to this node: an informer, and writes that update its cache at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import informer, interfaces, store
from traincrew.client.lister import Unstructured, decode
from traincrew.model import meta
from traincrew.model.resources import PODS

EventHandler = Callable[[Unstructured | None, Unstructured | None], None]
"""Called with the pod before and after a change. None: the pod was added or deleted."""


class PodCache:
    def __init__(self, client: interfaces.Client, node: str) -> None:
        self._client = client
        self._handlers: list[EventHandler] = []
        self._store: store.InformerStore[Unstructured] = store.InformerStore(decode, self._notify)
        self._informer = informer.Informer(client, informer.Scope(PODS, fields=f"spec.nodeName={node}"), self._store)

    def add_event_handler(self, handler: EventHandler) -> None:
        self._handlers.append(handler)

    def _notify(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for handler in self._handlers:
            handler(old, new)

    async def run(self) -> None:
        await self._informer.run()

    async def wait_for_sync(self) -> None:
        await self._informer.synced.wait()

    def learn(self, pod: Object) -> Object:
        """Adds the response to a write. Returns the newest known pod: the watch may have been faster."""
        return self._store.apply_response(Unstructured(msgspec.convert(pod["metadata"], meta.Meta), pod)).body

    async def delete(self, pod: Object) -> Object | None:
        """Deletes the pod without a grace period. Returns the pod if a finalizer keeps it. Raises ApiError."""
        metadata = pod["metadata"]
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            response = await self._client.delete(PODS, metadata["namespace"], metadata["name"], uid=metadata["uid"], grace=0)
            deleted = msgspec.json.decode(response)
            if (deleted.get("metadata") or {}).get("finalizers"):
                return self.learn(deleted)
        return None
