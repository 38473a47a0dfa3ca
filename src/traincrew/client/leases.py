"""Who acts when several operators run: whoever holds the Lease."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from typing import Any

import msgspec

from traincrew import errors, settings
from traincrew.apimachinery import times
from traincrew.client import clock, port
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
        self._leads = False
        self._holder = ""
        self._seen: tuple[str, float] = ("", 0.0)
        self._complaint = ""
        self._renewed = 0.0
        """When the last write that succeeded was begun: others count from a later moment."""

    async def acquire(self) -> None:
        """Returns once this process leads."""
        while not await self._try(self._options.renew_seconds):  # noqa: ASYNC110 - nobody tells when a lease runs out
            await asyncio.sleep(self._options.retry_seconds)
        logger.info("leading", extra={"lease": self._options.name, "identity": self._identity})

    async def keep(self) -> None:
        """Renews until that has failed for too long, then returns: the process must stop acting."""
        while (left := self._left()) > 0:
            await asyncio.sleep(min(self._options.retry_seconds, left))
            await self._try(self._left())
            if not self._leads:
                break
        logger.error("leadership lost", extra={"lease": self._options.name})

    async def release(self) -> None:
        """Lets a successor begin at once. Looks first: a write whose answer was lost may have taken the lease."""
        try:
            async with asyncio.timeout(self._options.renew_seconds / 2):
                lease = await self._read()
                if lease is not None and lease.spec.holder_identity == self._identity:
                    spec = msgspec.structs.replace(lease.spec, holder_identity="", lease_duration_seconds=1)
                    await self._write(msgspec.structs.replace(lease, spec=spec))
        except (errors.ApiError, TimeoutError) as error:
            logger.warning("lease not released", extra={"error": str(error) or "timed out"})

    def _left(self) -> float:
        """Seconds for which this process may go on without another renewal."""
        return self._renewed + self._options.renew_seconds - asyncio.get_running_loop().time()

    async def _try(self, seconds: float) -> bool:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds):
                leads = await self._take(await self._read())
        except (errors.ApiError, TimeoutError) as error:
            if not isinstance(error, errors.Conflict | errors.AlreadyExists):  # somebody else was quicker
                self._complain(str(error) or "timed out")
            return False
        self._complaint = ""
        if leads:
            self._leads, self._renewed = True, began
        return leads

    def _complain(self, error: str) -> None:
        level = logging.DEBUG if error == self._complaint else logging.WARNING
        self._complaint = error
        where = f"{self._options.namespace}/{self._options.name}"
        logger.log(level, "lease not obtained", extra={"lease": where, "error": error})

    async def _read(self) -> Lease | None:
        try:
            raw = await self._client.get(resources.LEASES, self._options.namespace, self._options.name)
        except errors.NotFound:
            return None
        return msgspec.json.decode(raw, type=Lease)

    async def _take(self, lease: Lease | None) -> bool:
        now = clock.now()
        if lease is None:
            await self._create(LeaseSpec(**self._mine(now), acquire_time=now))
            return True
        mine = lease.spec.holder_identity == self._identity
        if not mine and not self._expired(lease):
            self._leads = False
            self._note_holder(lease.spec.holder_identity)
            return False
        changes: dict[str, Any] = self._mine(now)
        if not mine:
            changes |= {"acquire_time": now, "lease_transitions": lease.spec.lease_transitions + 1}
        await self._write(msgspec.structs.replace(lease, spec=msgspec.structs.replace(lease.spec, **changes)))
        return True

    def _note_holder(self, holder: str) -> None:
        if holder != self._holder:
            logger.info("standing by", extra={"lease": self._options.name, "leader": holder})
        self._holder = holder

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
        await self._client.create(resources.LEASES, self._options.namespace, _encode(lease))

    async def _write(self, lease: Lease) -> None:
        await self._client.replace(resources.LEASES, self._options.namespace, self._options.name, _encode(lease))


def _encode(lease: Lease) -> bytes:
    body = {"apiVersion": resources.LEASES.api_version, "kind": "Lease", **msgspec.to_builtins(lease)}
    # MicroTime wants exactly six digits after the second.
    for field, value in (("acquireTime", lease.spec.acquire_time), ("renewTime", lease.spec.renew_time)):
        if value is not None:
            body["spec"][field] = times.rfc3339_micro(value)
    return msgspec.json.encode(body)
