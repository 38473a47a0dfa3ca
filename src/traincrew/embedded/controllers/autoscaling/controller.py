"""The horizontal pod autoscaler controller: scales targets by the usage of their pods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import pods, reconcile_loop
from traincrew.embedded.controllers.autoscaling import behaviour, decisions, metrics
from traincrew.embedded.controllers.event_recorder import ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.embedded.controllers.scale_targets import ScaleClient
from traincrew.model.resources import AUTOSCALERS, PODS, Resource

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
PERIOD = 15.0
"""Seconds between two reconciles of the same autoscaler."""


class AutoscalerController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers, period: float = PERIOD) -> None:
        self._client, self._period = client, period
        self._autoscalers = informers.lister(AUTOSCALERS)
        self._recorder = ControllerEventRecorder(client, "horizontal-pod-autoscaler")
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._histories: dict[str, behaviour.ScalingHistory] = {}
        """By UID. A new process begins with the current number of replicas."""
        self._scales = ScaleClient(client)
        self._autoscalers.listeners.append(self._changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("autoscaling", self._queue, self._reconcile))

    def _changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._histories.pop(old.metadata.uid, None)
        if new is not None and (old is None or old.body["spec"] != new.body["spec"]):
            self._queue.add((new.metadata.namespace, new.metadata.name))

    async def _reconcile(self, key: NamespacedName) -> float | None:
        stored = self._autoscalers.get(*key)
        if stored is None or stored.metadata.deletion_timestamp is not None:
            return None
        report = decisions.report(stored.body, clock.now())
        try:
            await self._scale(stored, report)
        finally:
            for event in report.events:
                self._recorder.event(AUTOSCALERS, stored.body, *event)
        if report.status != stored.body.get("status"):
            titled = {"apiVersion": AUTOSCALERS.api_version, "kind": AUTOSCALERS.kind} | stored.body | {"status": report.status}
            body = msgspec.json.encode(titled)
            self._autoscalers.apply_response(await self._client.replace(AUTOSCALERS, *key, body, "status"))
        return self._period

    async def _scale(self, stored: Unstructured, report: decisions.StatusReport) -> None:
        reference, namespace = stored.body["spec"]["scaleTargetRef"], stored.metadata.namespace
        try:
            resource, scale = await self._scales.find(reference, namespace)
        except errors.ApiError as error:
            decisions.unreachable(report, error.message)
            return
        target = await self._target(namespace, scale)
        history = self._histories.get(stored.metadata.uid, behaviour.ScalingHistory())
        outcome = decisions.decide(stored.body, target, report, history)
        self._histories[stored.metadata.uid] = outcome.history
        if outcome.replicas is None:
            return
        body = msgspec.json.encode({**scale, "spec": {**scale["spec"], "replicas": outcome.replicas}})
        try:
            await self._client.replace(resource, namespace, reference["name"], body, "scale")
        except errors.ApiError as error:
            decisions.not_scaled(report, outcome, error.message)
            return
        by = outcome.replicas - int(scale["spec"].get("replicas", 0))
        self._histories[stored.metadata.uid] = outcome.history.changed(by, report.now)
        decisions.scaled(report, outcome)

    async def _target(self, namespace: str, scale: Object) -> decisions.ScaleTarget:
        selector = (scale.get("status") or {}).get("selector", "")
        if not selector:
            return decisions.ScaleTarget(scale, (), list)
        target_pods = [
            pods.decode(item) async for page in self._client.pages(PODS, namespace, labels=selector) for item in page.items
        ]
        return decisions.ScaleTarget(scale, target_pods, await self._metrics(namespace, selector))

    async def _metrics(self, namespace: str, selector: str) -> Callable[[], Sequence[Object]]:
        items: list[Object] = []
        failure = ""
        try:
            async for page in self._client.pages(POD_METRICS, namespace, labels=selector):
                items += [msgspec.json.decode(item) for item in page.items]
        except errors.NotFound:
            failure = "the server could not find the requested resource (get pods.metrics.k8s.io)"
        except errors.ApiError as error:
            failure = error.message

        def report() -> Sequence[Object]:
            if failure:
                raise metrics.Unknown(f"unable to fetch metrics from resource metrics API: {failure}")
            if not items:
                raise metrics.Unknown("no metrics returned from resource metrics API")
            return items

        return report
