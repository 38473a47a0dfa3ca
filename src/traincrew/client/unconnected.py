"""The client of a program that works without a cluster: every request fails with the reason."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Never

import aiohttp

from traincrew import errors
from traincrew.client import connection, interfaces
from traincrew.client.remote import RemoteClient
from traincrew.model.resources import Resource


class UnconnectedClient(RemoteClient):
    """Opens no connection. Every method raises NoCluster."""

    def __init__(self, reason: str) -> None:
        super().__init__(connection.ServerConnection("http://none.invalid"))
        self._reason = reason

    async def _send(self, call: object) -> Never:
        raise errors.NoCluster(self._reason)

    async def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        raise errors.NoCluster(self._reason)
        yield  # it is a generator

    async def stream(
        self, resource: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        raise errors.NoCluster(self._reason)
        yield  # it is a generator

    def websocket(
        self, path: tuple[Resource, str, str, str], query: Sequence[tuple[str, str]], protocols: tuple[str, ...]
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        raise errors.NoCluster(self._reason)
