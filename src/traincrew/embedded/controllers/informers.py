"""The informers that all controllers share: one watch for each resource."""

from __future__ import annotations

import asyncio

from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured, decode
from traincrew.embedded.controllers import pods
from traincrew.model.resources import PODS, Resource


class SharedInformers:
    def __init__(self, reader: interfaces.Reader) -> None:
        self._reader = reader
        self._listers: dict[Resource, Lister[Unstructured]] = {}
        self.pods: Lister[pods.Pod] = Lister(reader, PODS, pods.decode)

    def lister(self, resource: Resource) -> Lister[Unstructured]:
        """The same lister for every controller. Must be called before `run`."""
        if resource not in self._listers:
            self._listers[resource] = Lister(self._reader, resource, decode)
        return self._listers[resource]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.informer.run())
            for lister in self._listers.values():
                group.create_task(lister.informer.run())

    async def synced(self) -> None:
        await self.pods.informer.synced.wait()
        for lister in self._listers.values():
            await lister.informer.synced.wait()
