"""A watch of one object: a list by its name, then a watch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces, retries
from traincrew.embedded.kubelet.envvars.errors import ObjectNotFound
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)


FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0


class WatchedObjectKey(NamedTuple):
    resource: Resource
    namespace: str
    name: str


class ObjectWatch:
    def __init__(self, client: interfaces.Client, key: WatchedObjectKey, on_change: Callable[[frozenset[str]], None]) -> None:
        self.key = key
        self.users: set[str] = set()
        """The uids of the pods that refer to the object."""
        self._client, self._on_change = client, on_change
        self._object: Object | None = None
        self._failure: errors.ApiError | None = None
        self._known = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        name = f"watch {self.key.resource.plural} {self.key.namespace}/{self.key.name}"
        self._task = asyncio.get_running_loop().create_task(self._run(), name=name)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def get(self) -> Object:
        """Raises ObjectNotFound, or the error of the last request."""
        await self._known.wait()
        if self._object is not None:
            return self._object
        if self._failure is not None:
            raise self._failure
        raise ObjectNotFound(self.key.resource.kind.lower(), self.key.name)

    async def _run(self) -> None:
        backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)
        while True:
            try:
                version = await self._list()
                if self._is_immutable():
                    return
                backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)
                await self._watch(version)
                if self._is_immutable():
                    return
            except errors.Expired:
                continue
            except errors.ApiError as error:
                self._failed(error)
                await asyncio.sleep(backoff.next(error))

    def _failed(self, error: errors.ApiError) -> None:
        """Keeps the last object: a pod keeps its files while the API server is unavailable."""
        self._failure = error
        if not self._known.is_set():
            fields = {"resource": self.key.resource.plural, "object": f"{self.key.namespace}/{self.key.name}"}
            log.warning("cannot read object of a pod", extra={**fields, "error": error.message})
        self._known.set()

    async def _list(self) -> str:
        fields = f"metadata.name={self.key.name}"
        listed, version = None, ""
        pages = self._client.pages(self.key.resource, self.key.namespace, fields=fields)
        async with contextlib.aclosing(pages):
            async for page in pages:
                listed = _decode(page.items[0]) if page.items else listed
                version = page.resource_version
        self._set(listed)
        return version

    async def _watch(self, version: str) -> None:
        fields = f"metadata.name={self.key.name}"
        changes = self._client.watch(self.key.resource, self.key.namespace, fields=fields, resource_version=version)
        async with contextlib.aclosing(changes):
            async for change in changes:
                if change.type == "DELETED":
                    self._set(None)
                elif change.type != "BOOKMARK":
                    self._set(_decode(change.object))
                    if self._is_immutable():
                        return

    def _is_immutable(self) -> bool:
        """An immutable object need not be watched: its pods keep the files after its deletion."""
        return self._object is not None and self._object.get("immutable") is True

    def _set(self, latest: Object | None) -> None:
        first, self._failure = not self._known.is_set(), None
        changed = _version(latest) != _version(self._object)
        self._object = latest
        self._known.set()
        if changed and not first:
            self._on_change(frozenset(self.users))


def _decode(raw: bytes) -> Object:
    decoded: Object = msgspec.json.decode(raw)
    return decoded


def _version(decoded: Object | None) -> tuple[str, str]:
    meta = (decoded or {}).get("metadata") or {}
    return meta.get("uid", ""), meta.get("resourceVersion", "")
