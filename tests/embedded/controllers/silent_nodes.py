"""Nodes with the heartbeat of the real kubelet, controllers and API server in one process, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from tests.operator import operator_cluster

from traincrew.client import interfaces
from traincrew.embedded.controllers.nodes.health import TIMING
from traincrew.embedded.controllers.run import Controllers
from traincrew.embedded.kubelet.node import conditions
from traincrew.embedded.kubelet.node.machine import Machine, NodeIdentity
from traincrew.embedded.kubelet.node.node_lease import NodeLease
from traincrew.embedded.kubelet.node.node_status import NodeStatusUpdater
from traincrew.model.resources import EVENTS, NODES, PODS, Resource

Object = dict[str, Any]
NAMESPACE = "default"
NAMES = ("nodelifecycle", "taint-eviction", "podgc")


class SilentNodes:
    """A cluster whose nodes can be silenced and come back."""

    def __init__(
        self, client: interfaces.Client, start: Callable[[Callable[[], float]], Controllers], data: pathlib.Path
    ) -> None:
        self._client, self._start, self._data = client, start, data
        self._heartbeats: dict[str, asyncio.Task[None]] = {}
        self._controllers: asyncio.Task[None] | None = None
        self.suspended = 0.0
        """Seconds that the clock of the machine has counted while nothing ran."""

    def start_controllers(self) -> None:
        clock = asyncio.get_running_loop().time
        self._controllers = asyncio.create_task(self._start(lambda: clock() + self.suspended).run())

    async def stop_controllers(self) -> None:
        assert self._controllers is not None
        self._controllers.cancel()
        await asyncio.gather(self._controllers, return_exceptions=True)

    async def join(self, *names: str) -> None:
        """Starts the heartbeat of new nodes, or of nodes that were silent."""
        for name in names:
            identity = NodeIdentity(name, "127.0.0.1", 10250, "0", 110, {})
            status = NodeStatusUpdater(self._client, identity, Machine.detect(self._data, {}), conditions.HEALTHY)
            if await self._is_new(name):
                await status.register()
            self._heartbeats[name] = asyncio.create_task(_heartbeat(status, NodeLease(self._client, name, status)))

    async def silence(self, *names: str) -> None:
        tasks = [self._heartbeats.pop(name) for name in names]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        await self.silence(*self._heartbeats)
        await self.stop_controllers()

    async def _is_new(self, name: str) -> bool:
        return name not in {each["metadata"]["name"] for each in await self._all(NODES, None)}

    async def pod(self, name: str, node: str, **spec: Any) -> None:
        """A pod that runs and is ready."""
        body = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}], **spec},
        }  # fmt: skip
        await self._client.create(PODS, NAMESPACE, msgspec.json.encode(body))
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        patch = msgspec.json.encode({"status": status})
        await self._client.patch(PODS, NAMESPACE, name, patch, subresource="status")

    async def patch_node(self, name: str, body: Object) -> None:
        await self._client.patch(NODES, None, name, msgspec.json.encode(body))

    async def report_not_ready(self, *names: str) -> None:
        """As the kubelets do, who go on to renew their leases."""
        body = msgspec.json.encode({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
        await asyncio.gather(
            *(self._client.patch(NODES, None, each, body, subresource="status", type="strategic") for each in names)
        )

    async def delete_node(self, name: str) -> None:
        await self._client.delete(NODES, None, name)

    async def delete_pod(self, name: str) -> None:
        await self._client.delete(PODS, NAMESPACE, name)

    async def ready(self, name: str) -> str:
        listed = (await self._node(name))["status"]["conditions"]
        return next(str(each["status"]) for each in listed if each["type"] == "Ready")

    async def taints(self, name: str) -> set[str]:
        """Such as `unreachable:NoExecute`."""
        listed = (await self._node(name))["spec"].get("taints") or ()
        return {f"{each['key'].removeprefix('node.kubernetes.io/')}:{each['effect']}" for each in listed}

    async def evicting(self) -> int:
        """The number of nodes whose pods are evicted because nothing is heard of them."""
        listed = [each["spec"].get("taints") or () for each in await self._all(NODES, None)]
        key = "node.kubernetes.io/unreachable"
        return sum(any((each["key"], each["effect"]) == (key, "NoExecute") for each in taints) for taints in listed)

    async def running_pods(self) -> set[str]:
        return {each["metadata"]["name"] for each in await self.pods() if "deletionTimestamp" not in each["metadata"]}

    async def ready_pods(self) -> set[str]:
        return {each["metadata"]["name"] for each in await self.pods() if condition(each, "Ready")["status"] == "True"}

    async def pods(self) -> list[Object]:
        return await self._all(PODS, NAMESPACE)

    async def events(self, name: str) -> set[tuple[str, str]]:
        found = await self._all(EVENTS, NAMESPACE)
        return {(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == name}

    async def _node(self, name: str) -> Object:
        stored: Object = msgspec.json.decode(await self._client.get(NODES, None, name))
        return stored

    async def _all(self, resource: Resource, namespace: str | None) -> list[Object]:
        return [msgspec.json.decode(item) async for page in self._client.pages(resource, namespace) for item in page.items]


def condition(obj: Object, kind: str) -> Object:
    return next((each for each in obj["status"]["conditions"] if each["type"] == kind), {})


async def _heartbeat(status: NodeStatusUpdater, lease: NodeLease) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(lease.run())
        group.create_task(status.run())


@contextlib.asynccontextmanager
async def silent_nodes(data: pathlib.Path) -> AsyncIterator[SilentNodes]:
    async with operator_cluster.cluster(data) as running:
        client = running.control_plane.system_client
        nodes = SilentNodes(client("test"), lambda clock: Controllers(client, names=NAMES, nodes=TIMING, monotonic=clock), data)
        nodes.start_controllers()
        try:
            yield nodes
        finally:
            await nodes.close()
