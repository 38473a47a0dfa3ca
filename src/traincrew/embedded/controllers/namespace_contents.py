"""The service account controller and the publisher of the root CA: every namespace contains an object of each."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.model.resources import NAMESPACES, Resource


class NamespaceContentsController:
    """Creates an object in every active namespace, creates it again if it is deleted, and restores what it contains."""

    def __init__(
        self, name: str, client: interfaces.Client, informers: SharedInformers, resource: Resource, document: Object
    ) -> None:
        """document: the object without a namespace. Its metadata are only written when it is created."""
        self._name, self._client, self._resource, self._document = name, client, resource, document
        self._object_name: str = document["metadata"]["name"]
        self._namespaces = informers.lister(NAMESPACES)
        self._objects = informers.lister(resource, fields=f"metadata.name={self._object_name}")
        self._queue: WorkQueue[str] = WorkQueue()
        self._namespaces.listeners.append(self._namespace_changed)
        self._objects.listeners.append(self._object_changed)

    async def run(self) -> None:
        await reconcile_loop.run(self._name, self._queue, self._reconcile)

    def _namespace_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._queue.add(new.metadata.name)

    def _object_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if (stored := new or old) is not None:
            self._queue.add(stored.metadata.namespace)

    async def _reconcile(self, namespace: str) -> None:
        parent = self._namespaces.get("", namespace)
        if parent is None or parent.metadata.deletion_timestamp is not None:
            return
        stored = self._objects.get(namespace, self._object_name)
        try:
            if stored is None:
                await self._create(namespace)
            elif changes := self._changes(stored.body):
                body = msgspec.json.encode({**stored.body, **changes})
                self._objects.apply_response(await self._client.replace(self._resource, namespace, self._object_name, body))
        except errors.Forbidden as error:
            if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                raise

    async def _create(self, namespace: str) -> None:
        try:
            response = await self._client.create(self._resource, namespace, msgspec.json.encode(self._document))
        except errors.AlreadyExists:
            return  # the API server creates it with the namespace
        self._objects.apply_response(response)

    def _changes(self, stored: Object) -> Object:
        return {key: value for key, value in self._document.items() if key != "metadata" and stored.get(key) != value}
