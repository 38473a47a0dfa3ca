"""Who acts when several operators run: whoever holds the Lease."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from typing import Any

import msgspec

from traincrew import errors, settings
from traincrew.client import port
from traincrew.model import resources
from traincrew.model.meta import Meta, Struct, Time

logger = logging.getLogger(__name__)


class LeaseSpec(Struct):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: int = 0


class Lease(Struct):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class Elector:
    """A leader that cannot renew stops acting before others may begin."""

    def __init__(self, client: port.Client, options: settings.Election, identity: str) -> None:
        self._client = client
        self._options = options
        self._identity = identity
        self._held: Lease | None = None
        self._seen: tuple[str, float] = ("", 0.0)

    async def acquire(self) -> None:
        """Returns once this process leads."""
        while not await self._try():  # noqa: ASYNC110 - nobody tells when a lease runs out
            await asyncio.sleep(self._options.retry_seconds)
        logger.info("leading", extra={"lease": self._options.name, "identity": self._identity})

    async def keep(self) -> None:
        """Renews until that has failed for too long, then returns: the process must stop acting."""
        clock = asyncio.get_running_loop().time
        renewed = clock()
        while clock() - renewed < self._options.renew_seconds:
            await asyncio.sleep(self._options.retry_seconds)
            if await self._try():
                renewed = clock()
            elif self._held is None:
                break
        logger.error("leadership lost", extra={"lease": self._options.name})

    async def release(self) -> None:
        """Lets a successor begin at once."""
        if self._held is None:
            return
        spec = msgspec.structs.replace(self._held.spec, holder_identity="", lease_duration_seconds=1)
        try:
            await self._write(msgspec.structs.replace(self._held, spec=spec))
        except errors.ApiError as error:
            logger.warning("lease not released", extra={"error": error.message})
        self._held = None

    async def _try(self) -> bool:
        try:
            async with asyncio.timeout(self._options.renew_seconds / 2):
                return await self._take(await self._read())
        except (errors.ApiError, TimeoutError) as error:
            if isinstance(error, errors.Forbidden):
                logger.error("lease forbidden", extra={"error": str(error)})
            return False

    async def _read(self) -> Lease | None:
        try:
            raw = await self._client.get(resources.LEASES, self._options.namespace, self._options.name)
        except errors.NotFound:
            return None
        return msgspec.json.decode(raw, type=Lease)

    async def _take(self, lease: Lease | None) -> bool:
        now = dt.datetime.now(dt.UTC)
        if lease is None:
            await self._create(LeaseSpec(**self._mine(now), acquire_time=now))
            return True
        mine = lease.spec.holder_identity == self._identity
        if not mine and not self._expired(lease):
            self._held = None
            return False
        changes: dict[str, Any] = self._mine(now)
        if not mine:
            changes |= {"acquire_time": now, "lease_transitions": lease.spec.lease_transitions + 1}
        await self._write(msgspec.structs.replace(lease, spec=msgspec.structs.replace(lease.spec, **changes)))
        return True

    def _mine(self, now: dt.datetime) -> dict[str, Any]:
        return {
            "holder_identity": self._identity,
            "lease_duration_seconds": self._options.lease_seconds,
            "renew_time": now,
        }

    def _expired(self, lease: Lease) -> bool:
        """By our own clock since we last saw it change: clocks of two machines need not agree."""
        clock = asyncio.get_running_loop().time()
        if not lease.spec.holder_identity:
            return True
        if self._seen[0] != lease.metadata.resource_version:
            self._seen = (lease.metadata.resource_version, clock)
        return clock - self._seen[1] > max(lease.spec.lease_duration_seconds, 1)

    async def _create(self, spec: LeaseSpec) -> None:
        lease = Lease(metadata=Meta(name=self._options.name, namespace=self._options.namespace), spec=spec)
        raw = await self._client.create(resources.LEASES, self._options.namespace, _encode(lease))
        self._held = msgspec.json.decode(raw, type=Lease)

    async def _write(self, lease: Lease) -> None:
        raw = await self._client.replace(resources.LEASES, self._options.namespace, self._options.name, _encode(lease))
        self._held = msgspec.json.decode(raw, type=Lease)


def _encode(lease: Lease) -> bytes:
    body = {"apiVersion": resources.LEASES.api_version, "kind": "Lease", **msgspec.to_builtins(lease)}
    # MicroTime wants exactly six digits after the second.
    for field in ("acquireTime", "renewTime"):
        value = getattr(lease.spec, {"acquireTime": "acquire_time", "renewTime": "renew_time"}[field])
        if value is not None:
            body["spec"][field] = value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return msgspec.json.encode(body)
