"""CRDs that the cluster does not have, or has no longer: named in the log and by the readiness probe."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Any

from traincrew import errors
from traincrew.client.informer import Informer
from traincrew.kinds.kind import JobKind
from traincrew.model.jobs import GROUP
from traincrew.validation.crd_install_command import INSTALL

log = logging.getLogger(__name__)

REPORT_DELAY = 1.0
"""Seconds. Informers find out one after the other; one line names all of their CRDs."""


class MissingCRDs:
    def __init__(self, informers: Collection[Informer[Any]]) -> None:
        self._informers = informers
        self._reported: list[str] = []
        self._report_pending = False
        for informer in informers:
            informer.on_failure = self._failure_changed

    def unready_reason(self) -> str:
        """An operator is ready if it serves a kind, unless a CRD was deleted while it runs."""
        missing = [informer for informer in self._missing() if informer.scope.resource.group == GROUP]
        kinds = sum(informer.scope.resource.group == GROUP for informer in self._informers)
        return _sentence(missing) if len(missing) == kinds or any(informer.served for informer in missing) else ""

    def notice(self) -> str:
        """All CRDs that are missing, also if the operator is ready without them; empty if there are none."""
        return _sentence(self._missing())

    def served_of(self, kinds: Iterable[JobKind]) -> list[JobKind]:
        """Those of the kinds whose objects the API server lists."""
        served = {informer.scope.resource for informer in self._informers if informer.served} - {
            informer.scope.resource for informer in self._missing()
        }
        return [kind for kind in kinds if kind.resource in served]

    def _missing(self) -> list[Informer[Any]]:
        return [informer for informer in self._informers if isinstance(informer.failure, errors.NotFound)]

    def _failure_changed(self) -> None:
        if not self._report_pending:
            self._report_pending = True
            asyncio.get_running_loop().call_later(REPORT_DELAY, self._report)

    def _report(self) -> None:
        self._report_pending = False
        missing = self._missing()
        names = _names(missing)
        if names != self._reported:
            self._reported = names
            if missing:
                log.error("CRDs are not installed", extra={"crds": ", ".join(names), "remedy": _remedy(missing)})
            else:
                log.info("all CRDs are installed")


def _names(informers: Iterable[Informer[Any]]) -> list[str]:
    return sorted({f"{informer.scope.resource.plural}.{informer.scope.resource.group}" for informer in informers})


def _sentence(missing: Collection[Informer[Any]]) -> str:
    return f"CRDs are not installed: {', '.join(_names(missing))}. {_remedy(missing)}" if missing else ""


def _remedy(missing: Iterable[Informer[Any]]) -> str:
    if any(informer.scope.resource.group == GROUP for informer in missing):
        return f"Run `{INSTALL}`, or enable only the kinds that are installed (--enable-scheme)."
    return "Install the gang scheduler, or run the operator without --gang-scheduler-name."
