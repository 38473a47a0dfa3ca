"""CRDs that are older than the operator: it does not act before they are updated, because statuses would lose fields.

The OpenAPI document shows the schemas. Every service account may read it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from traincrew import errors
from traincrew.kinds.kind import JobKind
from traincrew.model.jobs import GROUP
from traincrew.validation import outdated_crds
from traincrew.validation.crd_install_command import INSTALL

log = logging.getLogger(__name__)

PATH = f"/openapi/v3/apis/{GROUP}/v1"
RETRY = 10.0
"""Seconds between checks while a CRD is outdated."""
UNPUBLISHED_RETRY, UNPUBLISHED_CHECKS = 1.0, 30
"""An API server serves the objects of a new CRD up to some seconds before it publishes their schema. Seconds between checks, and
their number, after which the schema is taken as current: some proxies hide OpenAPI documents."""

Fetch = Callable[[str], Awaitable[bytes]]


class OutdatedCRDs:
    def __init__(self, fetch: Fetch | None, served_kinds: Callable[[], list[JobKind]]) -> None:
        """fetch: reads a path of the API server. None: the CRDs are known to be current. served_kinds: those with a CRD."""
        self._fetch, self._served_kinds = fetch, served_kinds
        self._checked: list[JobKind] | None = None
        """The kinds that were served at the last check; None before the first one."""
        self.unready_reason = "" if fetch is None else "waiting for the schemas of the CRDs"

    async def updated(self) -> None:
        """Returns when no CRD is outdated, or when it cannot be known."""
        if self._fetch is None:
            return
        self._checked = self._served_kinds()
        for _ in range(UNPUBLISHED_CHECKS):
            if None not in (await self._missing_fields(self._fetch)).values():
                break
            self.unready_reason = "waiting until the API server publishes the schemas of new CRDs"
            await asyncio.sleep(UNPUBLISHED_RETRY)
        while True:
            if not self._report(await self._missing_fields(self._fetch)):
                return
            await asyncio.sleep(RETRY)

    async def check_later_crds(self) -> None:
        """Checks again when CRDs are installed after `updated` has returned. The operator acts already, but is not ready."""
        while True:
            await asyncio.sleep(RETRY)
            if self._checked is not None and self._served_kinds() != self._checked:
                await self.updated()

    def _report(self, missing_fields: Mapping[str, list[str] | None]) -> bool:
        outdated = [outdated_crds.describe(name, fields) for name, fields in missing_fields.items() if fields]
        reason = f"CRDs are older than this operator: {'; '.join(outdated)}. Run `{INSTALL}`." if outdated else ""
        if reason and reason != self.unready_reason:
            log.error("CRDs are older than the operator", extra={"reason": reason})
        self.unready_reason = reason
        return bool(reason)

    async def _missing_fields(self, fetch: Fetch) -> dict[str, list[str] | None]:
        """By CRD. None: its schema is not published. CRDs whose schemas may not be read are left out."""
        kinds = self._served_kinds()
        try:
            document: dict[str, Any] = msgspec.json.decode(await fetch(PATH))
        except errors.NotFound:
            document = {}
        except errors.ApiError as error:
            log.debug("schemas not read", extra={"error": error.message})
            return {}
        schemas = (document.get("components") or {}).get("schemas") or {}
        return {f"{kind.plural}.{GROUP}": outdated_crds.of_openapi(kind, schemas) for kind in kinds}
