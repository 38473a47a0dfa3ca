"""Namespaces that are being deleted are emptied, then let go; so are CustomResourceDefinitions with their objects."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.model.resources import CRDS, NAMESPACES, Resource

log = logging.getLogger(__name__)

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
PATIENCE = 0.5
"""Seconds between two looks at a namespace whose objects take their time."""


class Emptying:
    """Both are the same work: delete what is inside, and when nothing is left take away what holds the outside."""

    def __init__(self, client: port.Client, resources: Callable[[], Iterable[Resource]]) -> None:
        self._client, self._resources = client, resources
        self._busy: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        await asyncio.gather(self._watch(NAMESPACES, self._empty_namespace), self._watch(CRDS, self._empty_definition))

    async def _watch(self, resource: Resource, empty: Callable[[dict[str, object]], object]) -> None:
        while True:
            try:
                version = ""
                async for page in self._client.pages(resource, None):
                    version = page.resource_version
                    for item in page.items:
                        self._look(item, empty)
                while True:
                    async for change in self._client.watch(resource, None, resource_version=version):
                        version = msgspec.json.decode(change.object)["metadata"]["resourceVersion"]
                        if change.type not in ("BOOKMARK", "DELETED"):
                            self._look(change.object, empty)
                    await asyncio.sleep(0)  # a watch that ends as soon as it begins must not keep everybody else from theirs
            except errors.ApiError as error:
                if not isinstance(error, errors.Expired):
                    log.warning("watch interrupted", extra={"resource": resource.plural, "error": str(error)})
                await asyncio.sleep(PATIENCE)

    def _look(self, value: bytes, empty: Callable[[dict[str, object]], object]) -> None:
        obj = msgspec.json.decode(value)
        uid = obj["metadata"]["uid"]
        if obj["metadata"].get("deletionTimestamp") and uid not in self._busy:
            task = asyncio.create_task(self._until_done(obj, empty))
            self._busy[uid] = task
            task.add_done_callback(lambda _: self._busy.pop(uid, None))

    async def _until_done(self, obj: dict[str, object], empty: Callable[[dict[str, object]], object]) -> None:
        while True:
            try:
                if await empty(obj):  # type: ignore[misc]
                    return
            except errors.NotFound:
                return
            except errors.ApiError as error:
                log.warning("emptying failed", extra={"error": str(error)})
            await asyncio.sleep(PATIENCE)

    async def _empty_namespace(self, obj: dict[str, object]) -> bool:
        name = str(obj["metadata"]["name"])  # type: ignore[index]
        left = 0
        for resource in [each for each in self._resources() if each.namespaced]:
            left += await self._delete_all(resource, name)
        if left:
            return False
        body = msgspec.json.decode(await self._client.get(NAMESPACES, None, name))
        body["spec"] = {"finalizers": [each for each in body.get("spec", {}).get("finalizers") or () if each != "kubernetes"]}
        await self._client.replace(NAMESPACES, None, name, msgspec.json.encode(body), "finalize")
        return True

    async def _delete_all(self, resource: Resource, namespace: str | None) -> int:
        """How many were there before."""
        found = 0
        async for page in self._client.pages(resource, namespace):
            for item in page.items:
                meta = msgspec.json.decode(item)["metadata"]
                found += 1
                if not meta.get("deletionTimestamp"):
                    with contextlib.suppress(errors.NotFound, errors.Conflict):
                        await self._client.delete(resource, meta.get("namespace"), meta["name"], uid=meta["uid"])
        return found

    async def _empty_definition(self, obj: dict[str, object]) -> bool:
        crd = msgspec.json.decode(await self._client.get(CRDS, None, str(obj["metadata"]["name"])))  # type: ignore[index]
        if CLEANUP not in (crd["metadata"].get("finalizers") or ()):
            return True
        spec = crd["spec"]
        version = next(each["name"] for each in spec["versions"] if each["served"])
        names = spec["names"]
        resource = Resource(spec["group"], version, names["plural"], names["kind"], spec["scope"] == "Namespaced")
        if await self._delete_all(resource, None):
            return False
        left = [each for each in crd["metadata"]["finalizers"] if each != CLEANUP]
        meta = {"uid": crd["metadata"]["uid"], "resourceVersion": crd["metadata"]["resourceVersion"], "finalizers": left or None}
        await self._client.patch(CRDS, None, crd["metadata"]["name"], msgspec.json.encode({"metadata": meta}))
        return True
