"""Writes the names of Services with ready pods to a file, which nslookup reads in pods without a DNS server."""

from __future__ import annotations

import asyncio
import logging
import pathlib
from collections.abc import Iterable
from typing import Any

from traincrew.client import informer, interfaces, store
from traincrew.client.lister import Unstructured, decode
from traincrew.embedded.kubelet.network import localhost_services
from traincrew.embedded.kubelet.network.dns_zone import build_zone
from traincrew.embedded.kubelet.network.zone_publisher import BATCH_SECONDS, RETRY_SECONDS
from traincrew.model.resources import PODS, SERVICES

log = logging.getLogger(__name__)


class NamesFileWriter:
    def __init__(self, client: interfaces.Reader, path: pathlib.Path, domain: str) -> None:
        self._path, self._domain = path, domain
        self._changed = asyncio.Event()
        self._services, self._pods = (store.InformerStore(decode, self._on_change) for _ in range(2))
        scopes = ((SERVICES, self._services), (PODS, self._pods))
        self._informers = [informer.Informer(client, informer.Scope(each), copy) for each, copy in scopes]

    def _on_change(self, old: Unstructured | None, new: Unstructured | None) -> None:
        self._changed.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for each in self._informers:
                group.create_task(each.run())
            for each in self._informers:
                await each.synced.wait()
            self._changed.set()
            while True:
                await self._changed.wait()
                await asyncio.sleep(BATCH_SECONDS)
                self._changed.clear()
                await self._publish()

    async def _publish(self) -> None:
        try:
            self._write(render_names((seen.body for seen in self._services), (seen.body for seen in self._pods), self._domain))
        except OSError as error:
            log.warning("cannot write names file", extra={"error": str(error)})
            await asyncio.sleep(RETRY_SECONDS)
            self._changed.set()

    def _write(self, text: str) -> None:
        temporary = self._path.with_suffix(".new")
        temporary.touch(mode=0o600)
        temporary.write_text(text)
        temporary.replace(self._path)


def render_names(services: Iterable[dict[str, Any]], pods: Iterable[dict[str, Any]], domain: str) -> str:
    """One address and name per line."""
    known = list(services)
    names = build_zone(known, localhost_services.ready_endpoint_slices(known, pods), (), domain).names
    return "".join(f"{address}\t{name}\n" for name, records in names.items() for address in records.get("A", ()))
