"""The interface of a client of an API server, remote or in process.

Bodies are JSON bytes: the caller decodes the fields that it needs, and bytes cannot be modified by the other side.
Every method raises the errors of `traincrew.errors`; they raise `TemporaryError` only after the implementation's retries.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, NamedTuple, Protocol

import msgspec

from traincrew.model.resources import Resource

PatchType = Literal["merge", "json", "strategic"]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Page(NamedTuple):
    """One page of a list: the items as raw JSON, and the version of the collection they were read at."""

    items: list[bytes]
    resource_version: str


class WatchEvent(NamedTuple):
    """One event of a watch. The object of a BOOKMARK has only a resourceVersion."""

    type: ChangeType
    object: bytes


class Reader(Protocol):
    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes: ...

    def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[Page, None]:
        """A consistent list in pages (limit/continue); raises Expired when the continue token has expired."""
        ...

    def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after resource_version until the server ends the watch; raises Expired on 410.

        The first event is a bookmark of resource_version itself: the watch is established.
        """
        ...


class LogReader(Reader, Protocol):
    """Reads logs of containers, too."""

    def stream(
        self, resource: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        """A body as it arrives. The first chunk is empty: the server has accepted the request."""
        ...


class Writer(Protocol):
    async def create(
        self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False, dry_run: bool = False
    ) -> bytes:
        """strict: unknown and duplicate fields are rejected (fieldValidation=Strict), not dropped. dry_run: nothing is stored."""
        ...

    async def post(self, resource: Resource, namespace: str | None, name: str, subresource: str, body: bytes) -> bytes:
        """Posts to a subresource, such as the token of a service account."""
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
        """uid, version: preconditions (else Conflict). grace: grace period of a pod in seconds; a kubelet sends 0 when the
        pod has ended.

        Returns the object after the request, or a Status. After a lost response the retry may raise NotFound: then the
        first request has deleted the object.
        """
        ...


class Client(Reader, Writer, Protocol):
    """Reader and Writer."""


def delete_options(uid: str, version: str, propagation: str, grace: int | None) -> bytes:
    """The body of a delete."""
    options: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if preconditions := {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}:
        options["preconditions"] = preconditions
    if propagation:
        options["propagationPolicy"] = propagation
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    return msgspec.json.encode(options)
