"""Leader election by a Lease: of several operators only the holder of the Lease acts."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew import errors, settings
from traincrew.apimachinery import times
from traincrew.client import interfaces
from traincrew.model import resources
from traincrew.model.meta import Meta, Struct, Time

log = logging.getLogger(__name__)

RELEASE_RETRY = 0.1
"""Seconds between attempts to release a Lease that changes at the same time."""


class LeaseSpec(Struct):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: int = 0


class Lease(Struct):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class LeaderElector:
    """A leader that cannot renew the Lease stops before another may acquire it."""

    def __init__(
        self, client: interfaces.Client, options: settings.Election, identity: str, now: Callable[[], dt.datetime]
    ) -> None:
        """now: for the times that are written; durations are measured by the event loop's clock."""
        self._client = client
        self._options = options
        self._identity = identity
        self._now = now
        self._leading = False
        self._observed_holder = ""
        self._observed_version: tuple[str, float] = ("", 0.0)
        """The resourceVersion of the Lease, and when it was first observed."""
        self._last_error = ""
        self._renewed = 0.0
        """Start of the last successful write. Other candidates count from a later time."""

    async def acquire(self) -> None:
        """Returns once this process leads."""
        while not await self._try_acquire_or_renew(self._options.renew_seconds):  # noqa: ASYNC110 - expiry is not an event
            await asyncio.sleep(self._options.retry_seconds)
        log.info("became leader", extra={"lease": self._options.name, "identity": self._identity})

    async def renew(self) -> None:
        """Renews the Lease. Returns when renewal has failed for too long: the process must stop acting."""
        while (left := self._remaining()) > 0:
            await asyncio.sleep(min(self._options.retry_seconds, left))
            await self._try_acquire_or_renew(self._remaining())
            if not self._leading:
                break
        log.error("leadership lost", extra={"lease": self._options.name})

    async def release(self) -> None:
        """Releases the Lease, so that a successor can acquire it at once.

        The Lease is read first: a write whose response was lost may have acquired it.
        """
        try:
            async with asyncio.timeout(self._options.renew_seconds / 2):
                while not await self._try_release():  # noqa: ASYNC110 - a conflict is not an event
                    await asyncio.sleep(RELEASE_RETRY)
        except (errors.ApiError, TimeoutError) as error:
            log.warning("lease not released", extra={"error": str(error) or "timed out"})

    async def _try_release(self) -> bool:
        """False if the Lease changed in between: a renewal that was under way when the process stopped may still arrive."""
        lease = await self._read()
        if lease is not None and lease.spec.holder_identity == self._identity:
            spec = msgspec.structs.replace(lease.spec, holder_identity="", lease_duration_seconds=1)
            try:
                await self._write(msgspec.structs.replace(lease, spec=spec))
            except errors.Conflict:
                return False
        return True

    def _remaining(self) -> float:
        """Seconds for which this process may act without another renewal."""
        return self._renewed + self._options.renew_seconds - asyncio.get_running_loop().time()

    async def _try_acquire_or_renew(self, seconds: float) -> bool:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds):
                leading = await self._write_lease(await self._read())
        except (errors.ApiError, TimeoutError) as error:
            if not isinstance(error, errors.Conflict | errors.AlreadyExists):  # another candidate was faster
                self._log_error(str(error) or "timed out")
            return False
        self._last_error = ""
        if leading:
            self._leading, self._renewed = True, began
        return leading

    def _log_error(self, error: str) -> None:
        level = logging.DEBUG if error == self._last_error else logging.WARNING
        self._last_error = error
        lease = f"{self._options.namespace}/{self._options.name}"
        log.log(level, "lease not acquired", extra={"lease": lease, "error": error})

    async def _read(self) -> Lease | None:
        try:
            raw = await self._client.get(resources.LEASES, self._options.namespace, self._options.name)
        except errors.NotFound:
            return None
        return msgspec.json.decode(raw, type=Lease)

    async def _write_lease(self, lease: Lease | None) -> bool:
        """Acquires or renews the Lease; False if another candidate holds it."""
        now = self._now()
        if lease is None:
            await self._create(LeaseSpec(**self._own_fields(now), acquire_time=now))
            return True
        mine = lease.spec.holder_identity == self._identity
        if not mine and not self._expired(lease):
            self._leading = False
            self._observe_holder(lease.spec.holder_identity)
            return False
        changes: dict[str, Any] = self._own_fields(now)
        if not mine:
            changes |= {"acquire_time": now, "lease_transitions": lease.spec.lease_transitions + 1}
        await self._write(msgspec.structs.replace(lease, spec=msgspec.structs.replace(lease.spec, **changes)))
        return True

    def _observe_holder(self, holder: str) -> None:
        if holder != self._observed_holder:
            log.info("waiting for the lease", extra={"lease": self._options.name, "leader": holder})
        self._observed_holder = holder

    def _own_fields(self, now: dt.datetime) -> dict[str, Any]:
        return {
            "holder_identity": self._identity,
            "lease_duration_seconds": self._options.lease_seconds,
            "renew_time": now,
        }

    def _expired(self, lease: Lease) -> bool:
        """Measured by the local clock since the last observed change of the Lease: clocks of machines may differ."""
        clock = asyncio.get_running_loop().time()
        if not lease.spec.holder_identity:
            return True
        if self._observed_version[0] != lease.metadata.resource_version:
            self._observed_version = (lease.metadata.resource_version, clock)
        return clock - self._observed_version[1] > max(lease.spec.lease_duration_seconds, 1)

    async def _create(self, spec: LeaseSpec) -> None:
        lease = Lease(metadata=Meta(name=self._options.name, namespace=self._options.namespace), spec=spec)
        await self._client.create(resources.LEASES, self._options.namespace, _encode(lease))

    async def _write(self, lease: Lease) -> None:
        await self._client.replace(resources.LEASES, self._options.namespace, self._options.name, _encode(lease))


def _encode(lease: Lease) -> bytes:
    body = {"apiVersion": resources.LEASES.api_version, "kind": "Lease", **msgspec.to_builtins(lease)}
    # A MicroTime has exactly six fractional digits.
    for field, value in (("acquireTime", lease.spec.acquire_time), ("renewTime", lease.spec.renew_time)):
        if value is not None:
            body["spec"][field] = times.rfc3339_micro(value)
    return msgspec.json.encode(body)
