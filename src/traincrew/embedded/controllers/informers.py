"""The informers that all controllers share: one watch for each resource."""

from __future__ import annotations

import asyncio

from traincrew.client import port
from traincrew.client.lister import Lister, Unstructured, decode
from traincrew.embedded.controllers import pods
from traincrew.model.resources import PODS, Resource


class SharedInformers:
    def __init__(self, reader: port.Reader) -> None:
        self._reader = reader
        self._copies: dict[Resource, Lister[Unstructured]] = {}
        self.pods: Lister[pods.Pod] = Lister(reader, PODS, pods.decode)

    def of(self, resource: Resource) -> Lister[Unstructured]:
        """Everybody who asks gets the same; all must have asked before `run`."""
        if resource not in self._copies:
            self._copies[resource] = Lister(self._reader, resource, decode)
        return self._copies[resource]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.informer.run())
            for copy in self._copies.values():
                group.create_task(copy.informer.run())

    async def synced(self) -> None:
        await self.pods.informer.synced.wait()
        for copy in self._copies.values():
            await copy.informer.synced.wait()
