"""Pods of a real cluster within the test's process, and their volumes on the disk."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from tests.embedded.controllers.in_process_cluster import Cluster, cluster

from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.model.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS

Object = dict[str, Any]


class Node:
    """What an agent does about volumes, for one pod at a time."""

    def __init__(self, found: Cluster, directory: pathlib.Path) -> None:
        self.cluster, self.directory = found, directory
        self.changes: asyncio.Queue[str] = asyncio.Queue()
        self.objects = ObjectCache(found.control_plane.system_client("node"), self.changes.put_nowait)

    async def pod(self, *made: Object, name: str = "p", **spec: Any) -> Object:
        """made: its volumes."""
        body = {"containers": [{"name": "main", "image": "x"}], "volumes": list(made), **spec}
        return await self.cluster.create(PODS, {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": body})

    def place(self, pod: Object, isolation: Isolation = Isolation.ROOT) -> volumes.VolumeHost:
        return volumes.VolumeHost(self.directory / "node" / "pods" / pod["metadata"]["uid"], self.directory, isolation)

    async def mount(self, pod: Object) -> volumes.MountedVolumes:
        return await volumes.mount(pod, self.objects, self.place(pod))

    async def refresh(self, pod: Object) -> bool:
        return await volumes.refresh(pod, self.objects, self.place(pod))

    async def unmount(self, pod: Object) -> None:
        await volumes.unmount(pod, self.objects, self.place(pod))

    async def changed(self, pod: Object) -> None:
        """Once the node has heard of a change, as an agent does it."""
        async with asyncio.timeout(10):
            assert await self.changes.get() == pod["metadata"]["uid"]
        await self.refresh(pod)

    async def config_map(self, name: str, data: dict[str, str], **more: Any) -> None:
        await self.cluster.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data, **more})

    async def secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        await self.cluster.create(SECRETS, {"metadata": {"name": name}, "data": encoded})

    async def change(self, name: str, data: dict[str, str | None]) -> None:
        await self.cluster.patch(CONFIG_MAPS, name, {"data": data})


@contextlib.asynccontextmanager
async def node(directory: pathlib.Path) -> AsyncIterator[Node]:
    async with cluster(directory) as found:
        with contextlib.suppress(Exception):
            await found.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}})
        made = Node(found, directory)
        try:
            yield made
        finally:
            await made.objects.close()


def contents(path: str | pathlib.Path) -> dict[str, bytes]:
    """What a container would find, by its names."""
    root = pathlib.Path(path)
    return {
        str(each.relative_to(root)): each.read_bytes()
        for each in sorted(root.glob("[!.]*/**/*")) + sorted(root.glob("[!.]*"))
        if each.is_file()
    }
