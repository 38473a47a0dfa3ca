"""What the rest of traincrew may ask of an API server, whichever one it is.

Bodies travel as JSON bytes: whoever asked knows which fields it wants decoded, and bytes cannot be changed by
the other side. Every method raises the errors of `traincrew.errors`; `TemporaryError` is raised only after
the implementation's own retries.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal, NamedTuple, Protocol

from traincrew.model.resources import Resource

PatchType = Literal["merge", "json", "strategic"]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Page(NamedTuple):
    """One page of a list: the items as raw JSON, and the version of the collection they were read at."""

    items: list[bytes]
    resource_version: str


class Change(NamedTuple):
    """One event of a watch. A BOOKMARK's object carries nothing but its resourceVersion."""

    type: ChangeType
    object: bytes


class Reader(Protocol):
    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes: ...

    def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[Page, None]:
        """A consistent list in pages (limit/continue); raises Expired when the continuation has run out."""
        ...

    def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[Change, None]:
        """Changes after resource_version until the server ends the watch; raises Expired on 410.

        The first is a bookmark of resource_version itself: it says that the watch stands.
        """
        ...


class Writer(Protocol):
    async def create(self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False) -> bytes:
        """strict: unknown and duplicate fields are refused (fieldValidation=Strict), not dropped."""
        ...

    async def post(self, resource: Resource, namespace: str | None, name: str, subresource: str, body: bytes) -> bytes:
        """Creates what lives below an object, such as a service account's token."""
        ...

    async def replace(
        self, resource: Resource, namespace: str | None, name: str, body: bytes, subresource: str = ""
    ) -> bytes: ...

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: bytes,
        *,
        subresource: str = "",
        type: PatchType = "merge",
    ) -> bytes: ...

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "",
        grace: int | None = None,
    ) -> bytes:
        """uid: delete only that very object, version: only as it was seen (else Conflict).
        grace: seconds that a pod gets to end; 0 is the word of its node that it has ended.

        Returns the object as it then is, or a Status.

        After a lost answer the retry may find the object gone: NotFound then means that it is done.
        """
        ...


class Client(Reader, Writer, Protocol):
    """Both halves; nothing but composition roots should ask for it."""
