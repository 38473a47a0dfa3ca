"""An operator on a real API server in the same process, in virtual time. Requests are recorded and can fail."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, NamedTuple

import msgspec
from tests.operator.virtual_time import VirtualTimeLoop

from traincrew import errors, settings
from traincrew.app import cluster as app_cluster
from traincrew.client import interfaces
from traincrew.embedded.apiserver.openapi import documents
from traincrew.embedded.bootstrap import bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.kinds import KINDS
from traincrew.model.resources import EVENTS, PODS, Resource
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator

Object = dict[str, Any]
NAMESPACE = "default"
START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
PYTORCH = next(kind.resource for kind in KINDS if kind.kind == "PyTorchJob")


def now() -> dt.datetime:
    """The wall clock of virtual time, for operator and API server."""
    return START + dt.timedelta(seconds=asyncio.get_running_loop().time())


class ApiCall(NamedTuple):
    time: float
    verb: str
    plural: str
    subresource: str
    name: str


class FaultyClient:
    """A client that records its writes; `fault` may return an error to raise in place of a request."""

    def __init__(self, inner: interfaces.Client) -> None:
        self._inner = inner
        self.calls: list[ApiCall] = []
        self.fault: Callable[[ApiCall], errors.ApiError | None] = lambda call: None

    def _record(self, verb: str, resource: Resource, subresource: str, name: str) -> None:
        call = ApiCall(asyncio.get_running_loop().time(), verb, resource.plural, subresource, name)
        self.calls.append(call)
        if (error := self.fault(call)) is not None:
            raise error

    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes:
        self._record("get", resource, subresource, name)
        return await self._inner.get(resource, namespace, name, subresource)

    def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[interfaces.Page, None]:
        return self._inner.pages(resource, namespace, labels=labels, fields=fields)

    def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        return self._inner.watch(resource, namespace, labels=labels, fields=fields, resource_version=resource_version)

    async def create(
        self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False, dry_run: bool = False
    ) -> bytes:
        name = msgspec.json.decode(body).get("metadata", {}).get("name", "")
        self._record("dry-run" if dry_run else "create", resource, "", name)
        return await self._inner.create(resource, namespace, body, strict=strict, dry_run=dry_run)

    async def post(self, resource: Resource, namespace: str | None, name: str, subresource: str, body: bytes) -> bytes:
        self._record("post", resource, subresource, name)
        return await self._inner.post(resource, namespace, name, subresource, body)

    async def replace(self, resource: Resource, namespace: str | None, name: str, body: bytes, subresource: str = "") -> bytes:
        self._record("replace", resource, subresource, name)
        return await self._inner.replace(resource, namespace, name, body, subresource)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: bytes,
        *,
        subresource: str = "",
        type: interfaces.PatchType = "merge",
    ) -> bytes:
        self._record("patch", resource, subresource, name)
        return await self._inner.patch(resource, namespace, name, body, subresource=subresource, type=type)

    async def delete(self, resource: Resource, namespace: str | None, name: str, **options: Any) -> bytes:
        self._record("delete", resource, "", name)
        return await self._inner.delete(resource, namespace, name, **options)

    def status_writes(self) -> list[ApiCall]:
        return [call for call in self.calls if (call.plural, call.subresource) == (PYTORCH.plural, "status")]


class Cluster:
    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.client = control_plane.system_client("test")

    def faulty_client(self) -> FaultyClient:
        return FaultyClient(self.control_plane.system_client("operator"))

    @contextlib.asynccontextmanager
    async def operator(
        self, client: FaultyClient | None = None, options: settings.Operator | None = None
    ) -> AsyncIterator[FaultyClient]:
        """An operator that is stopped at the end of the block."""
        client, stop = client or self.faulty_client(), asyncio.Event()
        task = asyncio.create_task(self.new_operator(client, options).run(stop))
        try:
            yield client
            stop.set()
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def new_operator(
        self,
        client: interfaces.Client,
        options: settings.Operator | None = None,
        lease: interfaces.Client | None = None,
        *,
        reads_schemas: bool = False,
    ) -> Operator:
        """reads_schemas: whether it compares the CRDs with those of its version."""
        chosen = options or settings.Operator(metrics_address="0", health_address="0")
        clients = Clients(client, lease, self._openapi_document if reads_schemas else None)
        return Operator(clients, KINDS, chosen, Metrics(), now)

    async def _openapi_document(self, path: str) -> bytes:
        group, version = path.split("/")[-2:]
        return msgspec.json.encode(documents.document(tuple(self.control_plane.registry), group, version, {}))

    async def create(self, job: Object) -> None:
        await self.client.create(PYTORCH, NAMESPACE, msgspec.json.encode(job))

    async def job(self, name: str = "j") -> Object:
        stored: Object = msgspec.json.decode(await self.client.get(PYTORCH, NAMESPACE, name))
        return stored

    async def conditions(self, name: str = "j") -> list[str]:
        status = (await self.job(name)).get("status") or {}
        return [each["type"] for each in status.get("conditions") or () if each["status"] == "True"]

    async def pods(self) -> list[str]:
        return [each["metadata"]["name"] for each in await self._list(PODS)]

    async def events(self) -> list[tuple[str, str]]:
        return sorted((each["reason"], each["message"]) for each in await self._list(EVENTS))

    async def set_phase(self, pod: str, phase: str) -> None:
        body = msgspec.json.encode({"status": {"phase": phase}})
        await self.client.patch(PODS, NAMESPACE, pod, body, subresource="status")

    async def _list(self, resource: Resource) -> list[Object]:
        return [msgspec.json.decode(item) async for page in self.client.pages(resource, NAMESPACE) for item in page.items]


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[Cluster]:
    objects = app_cluster.bootstrap_objects(settings.Cluster())
    control_plane = ControlPlane(Options(data, "127.0.0.1", 0, objects, data / "log", "0"))
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    control_plane.cluster.clock = now  # otherwise pods would be created in the future of a slow test, or in its past
    loop.busy_threads.append(lambda: bool(control_plane.store._accepted))
    try:
        await bootstrap(control_plane.system_client("bootstrap"), objects)
        yield Cluster(control_plane)
    finally:
        await control_plane.close()
