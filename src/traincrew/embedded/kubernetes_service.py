"""The Service default/kubernetes: the address at which pods reach the API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec

from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured, decode
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.bootstrap import ensure
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.pki import certificates
from traincrew.model.resources import SERVICES
from traincrew.serving import background_tasks

NAMESPACE, NAME = "default", "kubernetes"


class KubernetesServiceController:
    """Creates the Service, and creates it again if it is deleted, as kube-apiserver does."""

    def __init__(self, client: interfaces.Client, port: int) -> None:
        """port: that on which the API server listens."""
        self._client, self._port = client, port
        self._services = Lister(client, SERVICES, decode, namespace=NAMESPACE, fields=f"metadata.name={NAME}")
        self._queue: WorkQueue[str] = WorkQueue()
        self._services.listeners.append(self._service_changed)

    @contextlib.asynccontextmanager
    async def maintained(self) -> AsyncIterator[None]:
        """Creates the Service, or points it to the port, and maintains it inside the block."""
        await ensure(self._client, SERVICES, _service(self._port))
        await self._set_port()
        async with background_tasks.running(background_tasks.keep_running("kubernetes service", self._run)):
            yield

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._services.informer.run())
            await self._services.informer.synced.wait()
            self._queue.add(NAME)
            group.create_task(reconcile_loop.run("kubernetes-service", self._queue, self._reconcile, workers=1))

    def _service_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        self._queue.add(NAME)

    async def _reconcile(self, name: str) -> None:
        if self._services.get(NAMESPACE, name) is None:
            await ensure(self._client, SERVICES, _service(self._port))

    async def _set_port(self) -> None:
        service = msgspec.json.decode(await self._client.get(SERVICES, NAMESPACE, NAME))
        ports = [{**each, "targetPort": self._port} for each in service["spec"]["ports"]]
        if ports != service["spec"]["ports"]:
            await self._client.patch(SERVICES, NAMESPACE, NAME, msgspec.json.encode({"spec": {"ports": ports}}))


def _service(port: int) -> Object:
    spec = {
        "clusterIP": certificates.SERVICE_ADDRESS,
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
    }
    labels = {"component": "apiserver", "provider": "kubernetes"}
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": labels}
    return {"metadata": metadata, "spec": spec}
