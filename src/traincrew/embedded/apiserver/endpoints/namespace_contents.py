"""Creates the objects that every namespace contains, together with the namespace.

In Kubernetes, controllers create them asynchronously. Here the next request can create a pod; controllers restore what is
deleted or changed later.
"""

from __future__ import annotations

import asyncio
import contextlib

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded import namespace_objects
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import RevisionConflict
from traincrew.embedded.apiserver.storage.records import Key, Record


async def create(scope: RequestScope, key: Key, namespace: Object) -> Record:
    """Stores a new namespace and what it contains. Raises RevisionConflict.

    All writes are accepted before one of them is visible: whoever sees the namespace finds that its contents exist.
    """
    if (existing := scope.store.head(key)) is not None:
        raise RevisionConflict(existing)
    record, *_ = await asyncio.gather(
        scope.store.put(key, namespace, 0),
        _create(scope, "serviceaccounts", key.name, namespace_objects.service_account()),
        _create(scope, "configmaps", key.name, namespace_objects.root_ca(scope.identity.authority)),
    )
    return record


async def _create(scope: RequestScope, resource: str, namespace: str, obj: Object) -> None:
    key = Key(resource, namespace, obj["metadata"]["name"])
    metadata = {"name": key.name, "namespace": namespace, "uid": scope.new_uid(), "creationTimestamp": scope.now()}
    with contextlib.suppress(RevisionConflict):  # it exists
        await scope.store.put(key, {**obj, "metadata": metadata | obj["metadata"]}, 0)
