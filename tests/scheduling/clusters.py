"""An API server in the process of the test, with a scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import msgspec
import yaml
from tests.embedded.controllers.in_process_cluster import eventually

from traincrew import errors, settings
from traincrew.app import cluster as app_cluster
from traincrew.client import interfaces
from traincrew.embedded.bootstrap import bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.embedded.scheduler import Scheduler
from traincrew.model import resources
from traincrew.model.resources import NODES, Resource
from traincrew.scheduling.decisions import Profile

NAMESPACE = "default"
CRDS = pathlib.Path(__file__).parents[1] / "cluster" / "crds"

Object = dict[str, Any]


class Cluster(NamedTuple):
    client: interfaces.Client
    daemon: ControlPlane

    async def create(self, resource: Resource, body: Object) -> Object:
        namespace = NAMESPACE if resource.namespaced else None
        return decoded(
            await self.client.create(
                resource, namespace, json.dumps({"kind": resource.kind, "apiVersion": resource.api_version, **body}).encode()
            )
        )

    async def get(self, resource: Resource, name: str) -> Object:
        return decoded(await self.client.get(resource, NAMESPACE if resource.namespaced else None, name))

    async def node(self, name: str = "machine", **amounts: str) -> None:
        await self.create(NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "2000", **amounts}
        status = {"status": {"allocatable": allocatable, "capacity": allocatable}}
        await self.client.patch(NODES, None, name, json.dumps(status).encode(), subresource="status")

    async def pod(self, name: str, spec: Object | None = None, **more: Any) -> Object:
        """more: requests, and metadata."""
        container = {"name": "main", "image": "x", "resources": {"requests": more.pop("requests", {})}}
        complete = {"containers": [container], "terminationGracePeriodSeconds": 0, **(spec or {})}
        return await self.create(resources.PODS, {"metadata": {"name": name, **more}, "spec": complete})

    async def bound(self, *names: str) -> dict[str, str]:
        """The nodes of these pods, once all are bound."""

        async def nodes() -> dict[str, str]:
            pairs = [(name, (await self.get(resources.PODS, name))["spec"].get("nodeName", "")) for name in names]
            return dict(pairs)

        return await eventually(nodes, lambda nodes: all(nodes.values()))

    async def condition(self, name: str, holds: Callable[[Object], bool] = bool) -> Object:
        """The PodScheduled condition, once it satisfies the predicate."""

        async def read() -> Object:
            status = (await self.get(resources.PODS, name))["status"]
            return next((each for each in status.get("conditions", ()) if each["type"] == "PodScheduled"), {})

        return await eventually(read, lambda condition: bool(condition) and holds(condition))

    async def event(self, name: str, reason: str) -> Object:
        async def read() -> list[Object]:
            pages = [page async for page in self.client.pages(resources.EVENTS, NAMESPACE)]
            events = [decoded(item) for page in pages for item in page.items]
            return [each for each in events if each["involvedObject"]["name"] == name and each["reason"] == reason]

        return (await eventually(read, bool))[0]

    async def install_crd(self, file: str) -> None:
        body = yaml.safe_load((CRDS / file).read_text())
        await self.client.create(resources.CRDS, None, json.dumps(body).encode())

    async def gone(self, name: str) -> bool:
        try:
            await self.get(resources.PODS, name)
        except errors.NotFound:
            return True
        return False


def decoded(raw: bytes) -> Object:
    obj: Object = msgspec.json.decode(raw)
    return obj


def options(data: pathlib.Path) -> Options:
    return Options(data, "127.0.0.1", 0, app_cluster.bootstrap_objects(settings.Cluster()), data / "traincrew.log", "0")


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[Cluster]:
    daemon = ControlPlane(options(data))
    try:
        await bootstrap(daemon.system_client("bootstrap"), daemon.options.bootstrap)
        yield Cluster(daemon.system_client("test"), daemon)
    finally:
        await daemon.close()


@contextlib.asynccontextmanager
async def scheduling(running: Cluster, policy: Profile | None = None) -> AsyncIterator[None]:
    """Runs the scheduler inside the block; it may be entered again."""
    task = asyncio.create_task(Scheduler(running.daemon.system_client("kube-scheduler"), policy or Profile()).run())
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
