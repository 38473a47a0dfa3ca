"""The informer of one resource: keeps a `Store` up to date by a list and a watch, as client-go's reflector does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from traincrew import errors
from traincrew.apimachinery import json_nesting
from traincrew.client import interfaces, retries, store
from traincrew.model import meta
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

T = TypeVar("T", bound=meta.Named)

MIN_WATCH_SECONDS = 2.0
"""Seconds. A watch that ends sooner is followed by a back-off."""
YIELD_EVERY = 100
"""Objects of a list that are stored before other tasks run: a few milliseconds."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0


class Scope(NamedTuple):
    """The watched objects; namespace None means all."""

    resource: Resource
    namespace: str | None = None
    labels: str = ""
    fields: str = ""


class _PartialObject(msgspec.Struct):
    """The metadata that every object has, also one that cannot be decoded."""

    class Meta(msgspec.Struct, rename="camel"):
        name: str = ""
        namespace: str = ""
        uid: str = ""
        resource_version: str = ""

    metadata: Meta


_partial = msgspec.json.Decoder(_PartialObject)


class ListReplacement(Generic[T]):
    """Replaces the content of a store by a list, while our own writes go on.

    It starts when it is created. An object that is not in the list is deleted, unless we wrote it after the list was read.
    """

    def __init__(self, target: store.InformerStore[T], namespace: str | None = None) -> None:
        self._store, self._namespace = target, namespace
        self._before = {obj.metadata.uid for obj in target}
        self._listed: set[str] = set()

    def observe(self, obj: T) -> None:
        self._listed.add(obj.metadata.uid)
        self._store.observe(obj, listed=True)

    def skip(self, uid: str) -> None:
        """The object exists but cannot be decoded: the stored object stays as it is."""
        self._listed.add(uid)

    def finish(self, version: str) -> None:
        for obj in [each for each in self._store if self._is_deleted(each, version)]:
            key = (obj.metadata.namespace, obj.metadata.name)
            self._store.observe_deletion(key, obj.metadata.uid, version)
        self._store.observe_version(self._namespace, version)

    def _is_deleted(self, obj: T, version: str) -> bool:
        if obj.metadata.uid in self._listed or self._namespace not in (None, obj.metadata.namespace):
            return False
        if meta.version_number(version):
            return not self._store.newer_than(obj, version)
        return obj.metadata.uid in self._before


class Informer(Generic[T]):
    def __init__(self, reader: interfaces.Reader, scope: Scope, target: store.InformerStore[T]) -> None:
        self.scope = scope
        self.store = target
        self.synced = asyncio.Event()
        """Set once the first list is stored, or the server has no such resource."""
        self.failure: errors.ApiError | None = None
        """Why the store is not being updated at this moment; None while the watch is established."""
        self.served = False
        """Whether the server has ever listed the resource."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called when `failure` has changed."""
        self._reader = reader
        self._version = ""
        self._highest = 0
        self._was_unreachable = False
        self._backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)

    async def run(self) -> None:
        """Runs until cancelled; after an error it retries."""
        while True:
            started = asyncio.get_running_loop().time()
            error = await self._list_and_watch()
            stable = asyncio.get_running_loop().time() - started >= MIN_WATCH_SECONDS
            if stable:
                self._backoff.reset()
            delay = 0.0 if stable and error is None else self._backoff.next(error)
            if error is not None:
                self._report(error, delay)
            await asyncio.sleep(delay)

    async def _list_and_watch(self) -> errors.ApiError | None:
        try:
            if self._was_unreachable and await self._is_server_restored():
                self._version = ""
            if not self._version:
                self._version = await self._list()
                self.served = True
                self.synced.set()
            await self._watch()
        except errors.ApiError as error:
            if isinstance(error, errors.Expired):
                self._version = ""
            self._was_unreachable |= isinstance(error, errors.Unreachable)
            if isinstance(error, errors.NotFound):
                # The server has no such resource (yet): its CRD is not installed, so there are no objects.
                self._version = ""
                ListReplacement(self.store, self.scope.namespace).finish("")
                self.synced.set()
            return error
        except Exception as error:
            # A fault of this program: it must not end the watch, on which whole components depend.
            log.exception("watch failed", extra={"resource": self.scope.resource.plural})
            self._version = ""
            return errors.ApiError(f"internal error: {error!r}")
        return None

    async def _list(self) -> str:
        scope, version = self.scope, ""
        replacement = ListReplacement(self.store, scope.namespace)
        async with contextlib.aclosing(self._pages()) as pages:
            async for page in pages:
                if not version:
                    version = page.resource_version
                    self._check_version(version)
                self._contacted()
                for number, item in enumerate(page.items, 1):
                    self._observe(item, replacement)
                    if number % YIELD_EVERY == 0:
                        await asyncio.sleep(0)
        replacement.finish(version)
        return version

    def _pages(self) -> AsyncGenerator[interfaces.Page, None]:
        scope = self.scope
        return self._reader.pages(scope.resource, scope.namespace, labels=scope.labels, fields=scope.fields)

    async def _watch(self) -> None:
        scope = self.scope
        watch = self._reader.watch(
            scope.resource, scope.namespace, labels=scope.labels, fields=scope.fields, resource_version=self._version
        )
        async with contextlib.aclosing(watch) as changes:
            async for change in changes:
                self._contacted()
                self._apply(change)

    def _apply(self, change: interfaces.WatchEvent) -> None:
        if change.type in ("BOOKMARK", "DELETED"):
            identity = json_nesting.decode(_partial.decode, change.object).metadata
            if change.type == "DELETED":
                key = (identity.namespace, identity.name)
                self.store.observe_deletion(key, identity.uid, identity.resource_version)
            self._advance(identity.resource_version)
        else:
            self._advance(self._observe(change.object))

    def _observe(self, raw: bytes, replacement: ListReplacement[T] | None = None) -> str:
        """Stores an object and returns its version. If it cannot be decoded the stored object stays as it is."""
        try:
            obj = self.store.decode(raw)
        except Exception as error:
            identity = json_nesting.decode(_partial.decode, raw).metadata
            if replacement is not None:
                replacement.skip(identity.uid)
            named = {"resource": self.scope.resource.plural, "object": f"{identity.namespace}/{identity.name}"}
            log.error("ignoring undecodable object", extra={**named, "error": str(error)})
            return identity.resource_version
        if replacement is None:
            self.store.observe(obj)
        else:
            replacement.observe(obj)
        return obj.metadata.resource_version

    def _advance(self, version: str) -> None:
        if version:
            self._version = version
            self.store.observe_version(self.scope.namespace, version)
            self._highest = max(self._highest, meta.version_number(version))

    async def _is_server_restored(self) -> bool:
        """Whether the server's data were replaced by an older state while it was unreachable.

        One page is listed to find out. A watch would not show it: a server that is asked for changes after a future
        version sends nothing until that version is reached.
        """
        async with contextlib.aclosing(self._pages()) as pages:
            page = await anext(pages)
        self._was_unreachable = False
        return 0 < meta.version_number(page.resource_version) < self._highest

    def _check_version(self, version: str) -> None:
        """A consistent list is never older than an earlier one, unless the server's data were replaced."""
        number = meta.version_number(version)
        if 0 < number < self._highest:
            self.store.invalidate_versions()
        self._highest = number

    def _contacted(self) -> None:
        if self.failure is not None:
            self.failure = None
            self.on_failure()

    def _report(self, error: errors.ApiError, delay: float) -> None:
        known = self.failure is not None and self.failure.message == error.message
        self.failure = error
        if not known:
            self.on_failure()
        level = logging.INFO if isinstance(error, errors.Expired | errors.NotFound) else logging.WARNING
        text = "the API server has no such resource" if isinstance(error, errors.NotFound) else error.message
        fields = {"resource": self.scope.resource.plural, "error": text, "retry_in": round(delay, 3)}
        log.log(logging.DEBUG if known else level, "watch interrupted", extra=fields)
