"""The controllers of kube-controller-manager, on one set of informers."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable, Iterable
from typing import Protocol

from traincrew.client import port
from traincrew.embedded.controllers.autoscaling.controller import PERIOD, Autoscalers
from traincrew.embedded.controllers.claims.binder import Binder
from traincrew.embedded.controllers.claims.ephemeral_volumes import Ephemeral
from traincrew.embedded.controllers.claims.protection import Protection
from traincrew.embedded.controllers.claims.provisioner import Provisioner
from traincrew.embedded.controllers.crd_finalizer import CRDFinalizer
from traincrew.embedded.controllers.disruption.controller import Disruptions
from traincrew.embedded.controllers.endpoints.controller import Endpoints
from traincrew.embedded.controllers.garbage_collector.controller import GarbageCollector
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.jobs.controller import Jobs
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.namespaces import NamespaceController
from traincrew.embedded.controllers.quotas import QuotaController
from traincrew.model.resources import Resource


class Controller(Protocol):
    async def run(self) -> None: ...


Resources = Callable[[], Iterable[Resource]]


class MetadataControllers:
    """The controllers that observe every resource: garbage collector, namespaces, CRD finalizer, resource quotas."""

    def __init__(self, client: Callable[[str], port.Client], watchable: Resources, deletable: Resources) -> None:
        """client: returns a client for the controller of that name."""
        self._informers = MetadataInformers(client("metadata-informers"), watchable)
        self._garbage_collector = GarbageCollector(client("garbage-collector"), self._informers)
        self._controllers: list[Controller] = [
            self._garbage_collector,
            NamespaceController(client("namespace-controller"), self._informers, deletable),
            CRDFinalizer(client("crd-finalizer"), self._informers),
            QuotaController(client("quota-controller"), self._informers, deletable),
        ]

    def resources_changed(self) -> None:
        """A CRD was added or removed."""
        self._informers.resources_changed()
        self._garbage_collector.resources_changed()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for each in (self._informers, *self._controllers):
                group.create_task(each.run())


class Controllers:
    """client: one that speaks as the controller of that name. volumes: where volumes are made for claims.
    names: of those to run; none: all. period: seconds between two looks at an autoscaler."""

    def __init__(
        self,
        client: Callable[[str], port.Client],
        volumes: pathlib.Path | None = None,
        names: Iterable[str] = (),
        period: float = PERIOD,
    ) -> None:
        self._copies = SharedInformers(client("shared-informers"))
        makers: dict[str, Callable[[], Controller]] = {
            "job": lambda: Jobs(client("job-controller"), self._copies),
            "endpoint": lambda: Endpoints(client("endpoint-controller"), self._copies),
            "horizontalpodautoscaling": lambda: Autoscalers(client("horizontal-pod-autoscaler"), self._copies, period),
            "disruption": lambda: Disruptions(client("disruption-controller"), self._copies),
            "ephemeral-volume": lambda: Ephemeral(client("ephemeral-volume-controller"), self._copies),
            "persistentvolume-binder": lambda: Binder(client("persistent-volume-binder"), self._copies),
            "persistentvolume-protection": lambda: Protection(client("pv-protection-controller"), self._copies),
        }
        if volumes is not None:
            makers["provisioner"] = lambda: Provisioner(client("local-provisioner"), self._copies, volumes)
        self._controllers = [makers[name]() for name in names or makers]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._copies.run())
            await self._copies.synced()
            for controller in self._controllers:
                group.create_task(controller.run())
