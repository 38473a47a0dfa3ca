"""Pods of an in-process cluster, and their volumes on disk."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from tests.embedded.controllers.in_process_cluster import Cluster, cluster

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.model.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS

Object = dict[str, Any]


class Node:
    """Mounts, refreshes and unmounts the volumes of pods, as the kubelet does."""

    def __init__(self, cluster: Cluster, directory: pathlib.Path) -> None:
        self.cluster, self.directory = cluster, directory
        self.changes: asyncio.Queue[str] = asyncio.Queue()
        self.objects = ObjectCache(cluster.control_plane.system_client("node"), self.changes.put_nowait)

    async def pod(self, *pod_volumes: Object, name: str = "p", **spec: Any) -> Object:
        body = {"containers": [{"name": "main", "image": "x"}], "volumes": list(pod_volumes), **spec}
        return await self.cluster.create(PODS, {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": body})

    def host(self, pod: Object, isolation: Isolation = Isolation.ROOT) -> volumes.VolumeHost:
        return volumes.VolumeHost(self.directory / "node" / "pods" / pod["metadata"]["uid"], self.directory, isolation)

    async def mount(self, pod: Object) -> volumes.MountedVolumes:
        return await volumes.mount(pod, self.objects, self.host(pod))

    async def refresh(self, pod: Object) -> bool:
        return await volumes.refresh(pod, self.objects, self.host(pod))

    async def unmount(self, pod: Object) -> None:
        """As the kubelet does, whose template process removes the directory of the pod."""
        await volumes.unmount(pod, self.objects, self.host(pod), remove)
        await remove(self.host(pod).directory)

    async def changed(self, pod: Object) -> None:
        """Waits for the notification of a change, and refreshes the volumes."""
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


async def remove(path: pathlib.Path) -> None:
    removal.remove_tree(path)


@contextlib.asynccontextmanager
async def node(directory: pathlib.Path) -> AsyncIterator[Node]:
    async with cluster(directory) as opened:
        with contextlib.suppress(Exception):
            await opened.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}})
        node = Node(opened, directory)
        try:
            yield node
        finally:
            await node.objects.close()


def contents(path: str | pathlib.Path) -> dict[str, bytes]:
    """The files that a container sees, by path."""
    root = pathlib.Path(path)
    return {
        str(each.relative_to(root)): each.read_bytes()
        for each in sorted(root.glob("[!.]*/**/*")) + sorted(root.glob("[!.]*"))
        if each.is_file()
    }
