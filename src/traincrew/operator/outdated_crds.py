"""CRDs that are older than the operator: it does not act before they are updated, because statuses would lose fields.

The OpenAPI document shows the schemas. Every service account may read it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.kinds.kind import JobKind
from traincrew.model.jobs import GROUP
from traincrew.operator.missing_crds import INSTALL
from traincrew.validation import outdated_crds

log = logging.getLogger(__name__)

PATH = f"/openapi/v3/apis/{GROUP}/v1"
RETRY = 10.0
"""Seconds between checks while a CRD is outdated."""

Fetch = Callable[[str], Awaitable[bytes]]


class OutdatedCRDs:
    def __init__(self, fetch: Fetch | None, kinds: tuple[JobKind, ...]) -> None:
        """fetch: reads a path of the API server. None: the CRDs are known to be current."""
        self._fetch, self._kinds = fetch, kinds
        self.unready_reason = ""

    async def updated(self) -> None:
        """Returns when no CRD is outdated, or when it cannot be known."""
        while self._fetch is not None:
            reason = await self._check(self._fetch)
            if reason != self.unready_reason:
                self.unready_reason = reason
                if reason:
                    log.error("CRDs are older than the operator", extra={"reason": reason})
                else:
                    log.info("all CRDs are current")
            if not reason:
                return
            await asyncio.sleep(RETRY)

    async def _check(self, fetch: Fetch) -> str:
        try:
            document: dict[str, Any] = msgspec.json.decode(await fetch(PATH))
        except errors.ApiError as error:
            log.debug("schemas not read", extra={"error": error.message})
            return ""
        schemas = (document.get("components") or {}).get("schemas") or {}
        found = {f"{kind.plural}.{GROUP}": outdated_crds.of_openapi(kind, schemas) for kind in self._kinds}
        outdated = [outdated_crds.describe(name, missing) for name, missing in found.items() if missing]
        return f"CRDs are older than this operator: {'; '.join(outdated)}. Run `{INSTALL}`." if outdated else ""
