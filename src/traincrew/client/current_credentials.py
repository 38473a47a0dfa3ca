"""The credentials of an API client as arguments of aiohttp, read again when they are stale or rejected."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import ssl
from collections.abc import Mapping
from typing import Any

import multidict

import traincrew
from traincrew import errors
from traincrew.client import connection, content_types, credentials, tls

log = logging.getLogger(__name__)

REREAD_PAUSE = 5.0
"""Seconds until rejected credentials that have not changed are read again."""
UNREADABLE_PAUSE = 10.0
"""Seconds for which the old credentials are used after the new ones could not be read."""


@dataclasses.dataclass(frozen=True)
class PreparedCredentials:
    access: credentials.Access = dataclasses.field(repr=False)
    headers: Mapping[str, multidict.CIMultiDict[str]] = dataclasses.field(repr=False)
    options: Mapping[str, Any] = dataclasses.field(repr=False)


class CurrentCredentials:
    def __init__(self, target: connection.ServerConnection, component: str) -> None:
        self._target = target
        self._agent = f"traincrew/{traincrew.__version__} ({component})"
        self._renewing = asyncio.Lock()
        self._prepared: PreparedCredentials | None = None
        self._read_at = self._rejected_at = -math.inf
        self._stale_at = -math.inf

    async def open(self) -> None:
        self._prepared = await self._prepare(None)

    def expire(self) -> None:
        """They are read again before the next request."""
        self._stale_at = -math.inf

    async def current(self, now: float) -> PreparedCredentials:
        if now < self._stale_at and self._prepared is not None:
            return self._prepared
        async with self._renewing:
            if now >= self._stale_at or self._prepared is None:
                await self._renew()
            assert self._prepared is not None
            return self._prepared

    async def have_changed(self, used: PreparedCredentials, since: float) -> bool:
        """Whether the credentials differ now from those that the server has rejected."""
        async with self._renewing:
            now = asyncio.get_running_loop().time()
            if self._prepared is used and self._read_at < since and now - self._rejected_at > REREAD_PAUSE:
                await self._renew()
                if self._prepared is used:
                    self._rejected_at = now
            return self._prepared is not used

    async def _renew(self) -> None:
        try:
            self._prepared = await self._prepare(self._prepared)
        except errors.KubeconfigError as error:
            if self._prepared is None:
                raise
            log.warning("failed to read the credentials again", extra={"error": str(error)})
            self._stale_at = asyncio.get_running_loop().time() + UNREADABLE_PAUSE

    async def _prepare(self, before: PreparedCredentials | None) -> PreparedCredentials:
        access = await self._target.identity.read()
        self._read_at = asyncio.get_running_loop().time()
        prepared = before if before is not None and before.access == access else self._build(access, before)
        self._stale_at = self._read_at + access.fresh_for
        return prepared

    def _build(self, access: credentials.Access, before: PreparedCredentials | None) -> PreparedCredentials:
        options: dict[str, Any] = {}
        if self._target.server.startswith("https:"):
            options["ssl"] = self._context(access, before)
            if self._target.tls_server_name:
                options["server_hostname"] = self._target.tls_server_name
        if self._target.proxy:
            options["proxy"] = self._target.proxy
        return PreparedCredentials(access, {each: self._headers(access, each) for each in content_types.SENT}, options)

    def _context(self, access: credentials.Access, before: PreparedCredentials | None) -> ssl.SSLContext:
        """A new context means new connections: it is created only if the certificates have changed."""
        if before is not None:
            old = before.access
            if (old.authority, old.certificate, old.key) == (access.authority, access.certificate, access.key):
                return before.options["ssl"]  # type: ignore[no-any-return]
        return tls.context(access, insecure=self._target.insecure, where=self._target.where)

    def _headers(self, access: credentials.Access, content_type: str) -> multidict.CIMultiDict[str]:
        headers = multidict.CIMultiDict(
            {
                "Accept": "application/json, */*",
                # Compression saves little within a data centre and costs both sides CPU.
                "Accept-Encoding": "identity",
                "User-Agent": self._agent,
                "Content-Type": content_type,
            }
        )
        if access.authorization:
            headers["Authorization"] = access.authorization
        for name, value in self._target.impersonation:
            headers.add(name, value)
        return headers
