"""The disruption controller: keeps the status of PodDisruptionBudgets, by which evictions are allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.disruption import decisions
from traincrew.embedded.controllers.event_recorder import NORMAL, WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.embedded.controllers.scale_targets import ScaleClient, ScaleUnavailable
from traincrew.model.resources import PODS, Resource

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of the PDB "
    "cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set "
    '".spec.minAvailable" field of the PDB to an integer value.'
)


class DisruptionController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._budgets, self._pods = informers.lister(BUDGETS), informers.pods
        self._scales = ScaleClient(client)
        self._recorder = ControllerEventRecorder(client, "controllermanager")
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._budgets.listeners.append(self._budget_changed)
        self._pods.listeners.append(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("disruption", self._queue, self._reconcile))

    def _budget_changed(self, _old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._queue.add((new.metadata.namespace, new.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or (old is not None and new is not None and _shown(old) == _shown(new)):
            return
        for budget in self._budgets.in_namespace(pod.metadata.namespace):
            if any(each is not None and _selects(budget.body, each) for each in (old, new)):
                key = (budget.metadata.namespace, budget.metadata.name)
                self._queue.add_after(key, reconcile_loop.batch_period(self._pods.count(pod.metadata.namespace)))

    async def _reconcile(self, key: NamespacedName) -> float | None:
        stored = self._budgets.get(*key)
        if stored is None or stored.metadata.deletion_timestamp is not None:
            return None
        now = clock.now()
        pods = [pod for pod in self._pods.in_namespace(key[0]) if _selects(stored.body, pod)]
        if not pods:
            self._recorder.event(BUDGETS, stored.body, NORMAL, "NoPods", "No matching pods found")
        try:
            expected = await self._count(stored.body, pods)
        except ScaleUnavailable as fault:
            message = f"Failed to calculate the number of expected pods: {fault}"
            self._recorder.event(BUDGETS, stored.body, WARNING, "CalculateExpectedPodCountFailed", message)
            await self._write(stored, decisions.failed(stored.body, str(fault), now))
            return None
        result = decisions.budget_status(stored.body, pods, expected, now)
        self._warn(stored, result.overdue)
        await self._write(stored, result.status)
        return (result.again - now).total_seconds() if result.again else None

    async def _count(self, budget: Object, pods: Sequence[Pod]) -> decisions.ExpectedPods:
        if not decisions.needs_scale(budget["spec"]):
            return decisions.expected_pods(budget["spec"], len(pods), 0)
        owners = {owner.uid: (owner, pod) for pod in pods if (owner := pod.metadata.controller) is not None}
        if any(pod.metadata.controller is None for pod in pods):
            message = UNMANAGED.format(label_selectors.go_string(budget["spec"].get("selector")))
            self._recorder.event(BUDGETS, budget, WARNING, "UnmanagedPods", message)
        scale = 0
        for owner, pod in owners.values():
            owner_scale = await self._scales.read(
                {"apiVersion": owner.api_version, "kind": owner.kind}, pod.metadata.namespace, owner.name
            )
            if owner_scale is None or owner_scale["metadata"]["uid"] != owner.uid:
                raise ScaleUnavailable(f'found no controllers for pod "{pod.metadata.name}"')
            scale += int(owner_scale["spec"].get("replicas", 0))
        return decisions.expected_pods(budget["spec"], len(pods), scale)

    def _warn(self, stored: Unstructured, overdue: Iterable[Pod]) -> None:
        # The namespace twice, without the name of the budget, as in Kubernetes.
        message = f"Pod was expected by PDB {stored.metadata.namespace}/{stored.metadata.namespace} to be deleted but it wasn't"
        for pod in overdue:
            meta = pod.metadata
            about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": meta.resource_version}
            self._recorder.event(PODS, {"metadata": about}, WARNING, "NotDeleted", message)

    async def _write(self, stored: Unstructured, status: Object) -> None:
        if status == stored.body.get("status"):
            return
        titled = {"apiVersion": BUDGETS.api_version, "kind": BUDGETS.kind} | stored.body | {"status": status}
        key = (stored.metadata.namespace, stored.metadata.name)
        self._budgets.apply_response(await self._client.replace(BUDGETS, *key, msgspec.json.encode(titled), "status"))


def _selects(budget: Object, pod: Pod) -> bool:
    return label_selectors.matches(budget["spec"].get("selector"), pod.metadata.labels)


def _shown(pod: Pod) -> tuple[object, ...]:
    """The properties of a pod that its budgets count."""
    return (pod.metadata.uid, pod.metadata.labels, pod.ready, pod.deleted)
