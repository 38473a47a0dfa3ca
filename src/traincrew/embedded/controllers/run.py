"""The controllers of kube-controller-manager, on one set of informers."""

from __future__ import annotations

import asyncio
import functools
import pathlib
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from traincrew.client import interfaces
from traincrew.embedded import namespace_objects
from traincrew.embedded.controllers.autoscaling.controller import PERIOD, AutoscalerController
from traincrew.embedded.controllers.claims import provisioner
from traincrew.embedded.controllers.claims.ephemeral_volumes import EphemeralVolumeController
from traincrew.embedded.controllers.claims.protection import ProtectionController
from traincrew.embedded.controllers.claims.volume_controller import PersistentVolumeController
from traincrew.embedded.controllers.crd_finalizer import CRDFinalizer
from traincrew.embedded.controllers.disruption.controller import DisruptionController
from traincrew.embedded.controllers.endpoints.controller import EndpointsController
from traincrew.embedded.controllers.garbage_collector.controller import GarbageCollector
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.jobs.controller import JobController
from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.embedded.controllers.namespace_contents import NamespaceContentsController
from traincrew.embedded.controllers.namespaces import NamespaceController
from traincrew.embedded.controllers.nodes.health import Timing
from traincrew.embedded.controllers.nodes.lifecycle_controller import NodeLifecycleController
from traincrew.embedded.controllers.nodes.pod_gc_controller import PodGCController
from traincrew.embedded.controllers.nodes.running_time import RunningTime
from traincrew.embedded.controllers.nodes.taint_eviction_controller import TaintEvictionController
from traincrew.embedded.controllers.quotas import QuotaController
from traincrew.model.resources import CONFIG_MAPS, SERVICE_ACCOUNTS, Resource
from traincrew.serving import background_tasks


class Controller(Protocol):
    async def run(self) -> None: ...


Resources = Callable[[], Iterable[Resource]]


class MetadataControllers:
    """The controllers that observe every resource: garbage collector, namespaces, CRD finalizer, resource quotas."""

    def __init__(self, client: Callable[[str], interfaces.Client], watchable: Resources, deletable: Resources) -> None:
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
                group.create_task(background_tasks.keep_running(type(each).__name__, each.run))


class Controllers:
    """client: returns a client for the controller of that name. volumes: the directory of provisioned volumes.
    names: the controllers to run; empty: all. period: seconds between two reconciles of an autoscaler.
    remove: removes the directory of a volume. nodes: when a node is lost; None: nobody looks after nodes.
    monotonic: the clock for this; that of the system does not count the time in which the machine is suspended.
    authority: the certificate that is published in every namespace, PEM; None: nothing is created in namespaces."""

    def __init__(
        self,
        client: Callable[[str], interfaces.Client],
        volumes: pathlib.Path | None = None,
        names: Iterable[str] = (),
        period: float = PERIOD,
        remove: provisioner.Remove = provisioner.remove_in_thread,
        nodes: Timing | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        authority: bytes | None = None,
    ) -> None:
        self._informers = SharedInformers(client("shared-informers"))
        constructors: dict[str, Callable[[], Controller]] = {
            "job": lambda: JobController(client("job-controller"), self._informers),
            "endpoint": lambda: EndpointsController(client("endpoint-controller"), self._informers),
            "horizontalpodautoscaling": lambda: AutoscalerController(
                client("horizontal-pod-autoscaler"), self._informers, period
            ),
            "disruption": lambda: DisruptionController(client("disruption-controller"), self._informers),
            "ephemeral-volume": lambda: EphemeralVolumeController(client("ephemeral-volume-controller"), self._informers),
            "persistentvolume-binder": lambda: PersistentVolumeController(client("persistent-volume-binder"), self._informers),
            "persistentvolume-protection": lambda: ProtectionController(client("pv-protection-controller"), self._informers),
        }
        if nodes is not None:
            constructors |= self._of_nodes(client, nodes, RunningTime(monotonic))
        if authority is not None:
            constructors |= self._of_namespaces(client, authority)
        if volumes is not None:
            constructors["provisioner"] = lambda: provisioner.LocalProvisioner(
                client("local-provisioner"), self._informers, volumes, remove
            )
        self._controllers = [constructors[name]() for name in names or constructors]

    def _of_nodes(
        self, client: Callable[[str], interfaces.Client], timing: Timing, running_time: RunningTime
    ) -> dict[str, Callable[[], Controller]]:
        informers = self._informers
        return {
            "nodelifecycle": lambda: NodeLifecycleController(client("node-controller"), informers, running_time, timing),
            "taint-eviction": lambda: TaintEvictionController(client("taint-eviction-controller"), informers, running_time),
            "podgc": lambda: PodGCController(client("pod-garbage-collector"), informers, running_time),
        }

    def _of_namespaces(self, client: Callable[[str], interfaces.Client], authority: bytes) -> dict[str, Callable[[], Controller]]:
        contents = {
            "serviceaccount": (SERVICE_ACCOUNTS, namespace_objects.service_account()),
            "root-ca-cert-publisher": (CONFIG_MAPS, namespace_objects.root_ca(authority)),
        }
        return {
            name: functools.partial(
                NamespaceContentsController, name, client(f"{name}-controller"), self._informers, resource, document
            )
            for name, (resource, document) in contents.items()
        }

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informers.run())
            await self._informers.synced()
            for controller in self._controllers:
                group.create_task(background_tasks.keep_running(type(controller).__name__, controller.run))
