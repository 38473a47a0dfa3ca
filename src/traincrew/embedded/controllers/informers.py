"""The informers that all controllers share: one watch for each resource and field selector."""

from __future__ import annotations

import asyncio

from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured, decode
from traincrew.embedded.controllers import pods
from traincrew.model.resources import PODS, Resource


class SharedInformers:
    def __init__(self, reader: interfaces.Reader) -> None:
        self._reader = reader
        self._listers: dict[tuple[Resource, str], Lister[Unstructured]] = {}
        self.pods: Lister[pods.Pod] = Lister(reader, PODS, pods.decode)

    def lister(self, resource: Resource, fields: str = "") -> Lister[Unstructured]:
        """The same lister for every controller; fields: a field selector. Must be called before `run`."""
        key = (resource, fields)
        if key not in self._listers:
            self._listers[key] = Lister(self._reader, resource, decode, fields=fields)
        return self._listers[key]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.informer.run())
            for lister in self._listers.values():
                group.create_task(lister.informer.run())

    async def synced(self) -> None:
        await self.pods.informer.synced.wait()
        for lister in self._listers.values():
            await lister.informer.synced.wait()
