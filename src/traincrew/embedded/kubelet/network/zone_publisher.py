"""Watches Services and EndpointSlices, and publishes their DNS zone to the netns daemon."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from traincrew.client import informer, interfaces, store
from traincrew.client.lister import Unstructured, decode
from traincrew.embedded.kubelet.network.dns_zone import build_zone
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.model.resources import SERVICES, Resource

log = logging.getLogger(__name__)

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
BATCH_SECONDS = 0.005
"""Seconds in which changes are collected, because the pods of a job become ready together."""
RETRY_SECONDS = 1.0


class ZonePublisher:
    def __init__(self, client: interfaces.Reader, netns: NetnsClient | None, domain: str) -> None:
        self._netns, self._domain = netns, domain
        self._changed = asyncio.Event()
        self._stores = {each: store.InformerStore(decode, self._on_change) for each in (SERVICES, ENDPOINT_SLICES)}
        self._informers = [informer.Informer(client, informer.Scope(each), store_) for each, store_ in self._stores.items()]

    def _on_change(self, old: Unstructured | None, new: Unstructured | None) -> None:
        self._changed.set()

    def services(self) -> list[dict[str, Any]]:
        return [each.body for each in self._stores[SERVICES]]

    async def synced(self) -> None:
        for each in self._informers:
            await each.synced.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for each in self._informers:
                group.create_task(each.run())
            await self.synced()
            if self._netns is not None:
                self._changed.set()
                group.create_task(self._publish(self._netns))

    async def _publish(self, netns: NetnsClient) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(BATCH_SECONDS)
            self._changed.clear()
            bodies = {resource: [each.body for each in store_] for resource, store_ in self._stores.items()}
            try:
                await netns.publish(build_zone(bodies[SERVICES], bodies[ENDPOINT_SLICES], (), self._domain))
            except OSError as error:
                log.warning("cannot publish DNS zone", extra={"error": str(error)})
                await asyncio.sleep(RETRY_SECONDS)
                self._changed.set()
