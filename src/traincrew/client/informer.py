"""Keeps a `Store` true: a list, then a watch for as long as it lasts, and again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncGenerator, Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from traincrew import errors
from traincrew.client import listing, port, retries, store
from traincrew.model import meta
from traincrew.model.resources import Resource

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=meta.Named)

OnUndecodable = Callable[[bytes, Exception], None]

STEADY = 2.0
"""Seconds a watch must have stood to count as sound; one that ends sooner is followed by a pause."""
STRETCH = 100
"""Objects taken from a list before others get their turn: a few milliseconds."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0


class Scope(NamedTuple):
    """What is watched; namespace None means all."""

    resource: Resource
    namespace: str | None = None
    labels: str = ""
    fields: str = ""


class _Bare(msgspec.Struct):
    """What even an object that cannot be decoded has."""

    class Meta(msgspec.Struct, rename="camel"):
        name: str = ""
        namespace: str = ""
        uid: str = ""
        resource_version: str = ""

    metadata: Meta


_bare = msgspec.json.Decoder(_Bare)


class Informer(Generic[T]):
    def __init__(
        self,
        reader: port.Reader,
        scope: Scope,
        copy: store.Store[T],
        on_undecodable: OnUndecodable | None = None,
    ) -> None:
        self.scope = scope
        self.store = copy
        self.synced = asyncio.Event()
        """Set once the first list has been taken in whole, or the server has said that it knows no such resource."""
        self.failure: errors.ApiError | None = None
        """Why the copy is not being kept at this moment; None while the watch stands."""
        self._reader = reader
        self._on_undecodable = on_undecodable
        self._version = ""
        self._highest = 0
        self._in_doubt = False
        self._contact = -math.inf
        self._backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)

    def silent_for(self) -> float:
        """Seconds since the server was last heard of; a sound watch has a bookmark about every minute."""
        return asyncio.get_running_loop().time() - self._contact

    async def run(self) -> None:
        """Runs until cancelled; errors of the server are waited out."""
        while True:
            started = asyncio.get_running_loop().time()
            error = await self._follow()
            steady = asyncio.get_running_loop().time() - started >= STEADY
            if steady:
                self._backoff.reset()
            delay = 0.0 if steady and error is None else self._backoff.next(error)
            if error is not None:
                self._report(error, delay)
            await asyncio.sleep(delay)

    async def _follow(self) -> errors.ApiError | None:
        try:
            if self._in_doubt and await self._is_restored():
                self._version = ""
            if not self._version:
                self._version = await self._list()
                self.synced.set()
            await self._watch()
        except errors.ApiError as error:
            if isinstance(error, errors.Expired):
                self._version = ""
            self._in_doubt |= isinstance(error, errors.Unreachable)
            if isinstance(error, errors.NotFound):
                # The server has no such resource (yet): its definition is not installed, so there are no objects.
                self.synced.set()
            return error
        return None

    async def _list(self) -> str:
        scope, version = self.scope, ""
        taking = listing.Listing(self.store, scope.namespace)
        async with contextlib.aclosing(self._pages()) as pages:
            async for page in pages:
                if not version:
                    version = page.resource_version
                    self._check_time(version)
                self._heard()
                for taken, item in enumerate(page.items, 1):
                    self._take(item, taking)
                    if taken % STRETCH == 0:
                        await asyncio.sleep(0)
        taking.end(version)
        return version

    def _pages(self) -> AsyncGenerator[port.Page, None]:
        scope = self.scope
        return self._reader.pages(scope.resource, scope.namespace, labels=scope.labels, fields=scope.fields)

    async def _watch(self) -> None:
        scope = self.scope
        watch = self._reader.watch(
            scope.resource, scope.namespace, labels=scope.labels, fields=scope.fields, resource_version=self._version
        )
        async with contextlib.aclosing(watch) as changes:
            async for change in changes:
                self._heard()
                self._apply(change)

    def _apply(self, change: port.Change) -> None:
        if change.type in ("BOOKMARK", "DELETED"):
            identity = _bare.decode(change.object).metadata
            if change.type == "DELETED":
                key = (identity.namespace, identity.name)
                self.store.saw_deleted(key, identity.uid, identity.resource_version)
            self._advance(identity.resource_version)
        else:
            self._advance(self._take(change.object))

    def _take(self, raw: bytes, taking: listing.Listing[T] | None = None) -> str:
        """Takes an object in and returns its version; one that cannot be decoded stays as it was known."""
        try:
            shown = self.store.decode(raw)
        except Exception as error:
            identity = _bare.decode(raw).metadata
            if taking is not None:
                taking.passed_over(identity.uid)
            if self._on_undecodable is not None:
                self._on_undecodable(raw, error)
            return identity.resource_version
        if taking is None:
            self.store.saw(shown)
        else:
            taking.saw(shown)
        return shown.metadata.resource_version

    def _advance(self, version: str) -> None:
        if version:
            self._version = version
            self.store.reached(self.scope.namespace, version)
            self._highest = max(self._highest, meta.version_number(version))

    async def _is_restored(self) -> bool:
        """Whether the server was replaced by an older state of itself while it was away.

        One page is read to find out, for the watch would not tell: asked for changes after a version that is yet to
        come, a server stays silent until it comes.
        """
        async with contextlib.aclosing(self._pages()) as pages:
            page = await anext(pages)
        self._in_doubt = False
        return 0 < meta.version_number(page.resource_version) < self._highest

    def _check_time(self, version: str) -> None:
        """A consistent list is never older than what was seen before, unless the server's data were replaced."""
        number = meta.version_number(version)
        if 0 < number < self._highest:
            self.store.distrust()
        self._highest = number

    def _heard(self) -> None:
        self._contact = asyncio.get_running_loop().time()
        self.failure = None

    def _report(self, error: errors.ApiError, delay: float) -> None:
        known = self.failure is not None and self.failure.message == error.message
        self.failure = error
        level = logging.INFO if isinstance(error, errors.Expired) else logging.WARNING
        fields = {"resource": self.scope.resource.plural, "error": error.message, "retry_in": round(delay, 3)}
        logger.log(logging.DEBUG if known else level, "watch interrupted", extra=fields)
