"""The endpoints controllers: keep Endpoints and EndpointSlices of Services."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.label_index import SelectorIndex
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.endpoints import members, slices, subsets
from traincrew.embedded.controllers.event_recorder import WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import NODES, SERVICES, Resource

ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints")
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
ELECTION = "control-plane.alpha.kubernetes.io/leader"
"""Endpoints with this annotation are a leader election lock, not a Service's."""


class EndpointsController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._services, self._pods, self._nodes = informers.lister(SERVICES), informers.pods, informers.lister(NODES)
        self._endpoints, self._slices = informers.lister(ENDPOINTS), informers.lister(SLICES)
        self._recorder = ControllerEventRecorder(client, "endpoint-controller")
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._selecting = SelectorIndex()
        self._services.listeners.append(self._index_service)
        self._services.listeners.append(self._service_changed)
        self._pods.listeners.append(self._pod_changed)
        self._nodes.listeners.append(self._node_changed)
        self._endpoints.listeners.append(self._endpoints_changed)
        self._slices.listeners.append(self._slice_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("endpoints", self._queue, self._reconcile))

    def _index_service(self, old: Unstructured | None, new: Unstructured | None) -> None:
        stored = new or old
        if stored is not None:
            self._selecting.update(
                (stored.metadata.namespace, stored.metadata.name), new.body["spec"].get("selector") if new else None
            )

    def _service_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        stored = new or old
        if stored is not None:
            self._queue.add((stored.metadata.namespace, stored.metadata.name))

    def _endpoints_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        """Reconciles also the Endpoints of a Service that was deleted while no controller ran."""
        self._service_changed(old, new)

    def _slice_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        stored = new or old
        if stored is not None and stored.metadata.labels.get(slices.MANAGED) == slices.MANAGER:
            self._queue.add((stored.metadata.namespace, stored.metadata.labels.get(slices.SERVICE, "")))

    def _node_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if old is None or new is None or old.metadata.labels.get(slices.ZONE) != new.metadata.labels.get(slices.ZONE):
            for service in self._services:
                self._queue.add((service.metadata.namespace, service.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or not any(state is not None and state.addresses for state in (old, new)):
            return
        if old is not None and new is not None and old is not new and _shown(old) == _shown(new):
            return
        siblings = self._pods.count(pod.metadata.namespace)
        for key in {key for state in (old, new) if state is not None for key in self._services_of(state)}:
            self._queue.add_after(key, reconcile_loop.batch_period(siblings))

    def _services_of(self, pod: Pod) -> Iterable[NamespacedName]:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        for name in self._selecting.candidates(namespace, labels):
            service = self._services.get(namespace, name)
            if service is not None and members.selects(service.body, labels):
                yield namespace, name

    async def _reconcile(self, key: NamespacedName) -> None:
        stored = self._services.get(*key)
        if stored is None:
            await self._without_service(key)
        elif members.has_endpoints(stored.body):
            near = self._pods.with_any_label(key[0], stored.body["spec"]["selector"])
            pods = [pod for pod in near if members.selects(stored.body, pod.metadata.labels)]
            await self._set_endpoints(stored.body, pods, self._endpoints.get(*key))
            await self._set_slices(stored.body, pods, [slice_.body for slice_ in self._slices_of(key)])

    def _slices_of(self, key: NamespacedName) -> Iterable[Unstructured]:
        for stored in self._slices.with_any_label(key[0], {slices.SERVICE: key[1]}):
            if stored.metadata.labels.get(slices.MANAGED) == slices.MANAGER:
                yield stored

    async def _without_service(self, key: NamespacedName) -> None:
        """The garbage collector deletes the slices with their owner; Endpoints have no owner."""
        endpoints = self._endpoints.get(*key)
        if endpoints is None or ELECTION in endpoints.metadata.annotations or endpoints.metadata.deletion_timestamp is not None:
            return
        response = await self._client.delete(ENDPOINTS, *key, uid=endpoints.metadata.uid)
        self._endpoints.apply_delete_response(endpoints, response)

    async def _set_endpoints(self, service: Object, pods: list[Pod], existing: Unstructured | None) -> None:
        desired = subsets.wanted(service, pods, existing.body if existing else None)
        if desired is None:
            return
        meta, body = service["metadata"], msgspec.json.encode(desired)
        name = f"{meta['namespace']}/{meta['name']}"
        try:
            if existing is None:
                response = await self._client.create(ENDPOINTS, meta["namespace"], body)
            else:
                response = await self._client.replace(ENDPOINTS, meta["namespace"], meta["name"], body)
        except errors.Forbidden as error:
            if any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                return
            message = f"Failed to {'update endpoint' if existing else 'create endpoint for service'} {name}: {error.message}"
            self._recorder.event(SERVICES, service, WARNING, f"FailedTo{'Update' if existing else 'Create'}Endpoint", message)
            raise
        self._endpoints.apply_response(response)

    async def _set_slices(self, service: Object, pods: list[Pod], existing: list[Object]) -> None:
        zones = {node.metadata.name: node.metadata.labels.get(slices.ZONE, "") for node in self._nodes}
        changes, namespace = slices.slice_changes(service, pods, existing, zones), service["metadata"]["namespace"]
        try:
            for slice_ in changes.create:
                self._slices.apply_response(await self._client.create(SLICES, namespace, msgspec.json.encode(slice_)))
        except errors.Forbidden as error:
            if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                raise
        for slice_ in changes.update:
            name = slice_["metadata"]["name"]
            self._slices.apply_response(await self._client.replace(SLICES, namespace, name, msgspec.json.encode(slice_)))
        for slice_ in changes.delete:
            stored = self._slices.get(namespace, slice_["metadata"]["name"])
            if stored is not None and stored.metadata.deletion_timestamp is None:
                response = await self._client.delete(SLICES, namespace, stored.metadata.name, uid=stored.metadata.uid)
                self._slices.apply_delete_response(stored, response)


def _shown(pod: Pod) -> tuple[object, ...]:
    """The properties of a pod that endpoints show."""
    return (pod.metadata.uid, pod.metadata.labels, pod.addresses, pod.ready, pod.ended, pod.deleted, pod.spec.node_name)
