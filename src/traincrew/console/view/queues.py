"""Queues of Kueue and Volcano with their quotas and their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from traincrew.apimachinery import quantities
from traincrew.console.contract.queues import Queue, QueuedJob, QueueResource
from traincrew.console.view import requests
from traincrew.kinds import KINDS
from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Meta, Struct, Time
from traincrew.model.status import Condition

Amount = str | int | float
Totals = dict[tuple[str, str], list[Amount]]
"""By flavor and resource."""
KIND_NAMES = {kind.kind: kind.singular for kind in KINDS}


class _Quantity(Struct, gc=False):
    name: str = ""
    total: Amount = "0"
    borrowed: Amount = "0"
    nominal_quota: Amount = "0"


class _Flavor(Struct):
    name: str = ""
    resources: list[_Quantity] = []


class _ResourceGroup(Struct):
    flavors: list[_Flavor] = []


class _QueueSpec(Struct):
    cluster_queue: str = ""
    cohort: str = ""
    cohort_name: str = ""
    queueing_strategy: str = ""
    resource_groups: list[_ResourceGroup] = []
    capability: dict[str, Amount] = {}


class _QueueStatus(Struct):
    conditions: list[Condition] = []
    pending_workloads: int = 0
    admitted_workloads: int = 0
    flavors_usage: list[_Flavor] = []
    flavor_usage: list[_Flavor] = []
    state: str = ""
    allocated: dict[str, Amount] = {}


class StoredQueue(Struct):
    """A LocalQueue or a ClusterQueue of Kueue, or a Queue of Volcano."""

    metadata: Meta
    spec: _QueueSpec = _QueueSpec()
    status: _QueueStatus = _QueueStatus()


class _PodSet(Struct):
    count: int = 1
    template: dict[str, Any] = {}


class _WorkloadSpec(Struct):
    queue_name: str = ""
    queue: str = ""
    priority: int = 0
    active: bool = True
    pod_sets: list[_PodSet] = []
    min_resources: dict[str, Amount] = {}


class _WorkloadStatus(Struct):
    conditions: list[Condition] = []
    phase: str = ""


class StoredWorkload(Struct):
    """A Workload of Kueue, or a PodGroup of Volcano."""

    metadata: Meta
    spec: _WorkloadSpec = _WorkloadSpec()
    status: _WorkloadStatus = _WorkloadStatus()

    def condition(self, name: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == name), None)

    def is_true(self, name: str) -> bool:
        found = self.condition(name)
        return found is not None and found.status == "True"


queue_decoder: LenientDecoder[StoredQueue] = LenientDecoder(StoredQueue)
workload_decoder: LenientDecoder[StoredWorkload] = LenientDecoder(StoredWorkload)


def kueue(local: StoredQueue, cluster: StoredQueue | None, workloads: Iterable[StoredWorkload]) -> Queue:
    """cluster None: the user may not read ClusterQueues. Workloads of other queues are ignored."""
    own = [
        each
        for each in workloads
        if each.metadata.namespace == local.metadata.namespace
        and each.spec.queue_name == local.metadata.name
        and not each.is_true("Finished")
    ]
    waiting = sorted((each for each in own if not each.is_true("Admitted")), key=_turn)
    active = next((each for each in local.status.conditions if each.type == "Active"), Condition(type="Active", status="True"))
    spec = cluster.spec if cluster is not None else _QueueSpec()
    return Queue(
        system="kueue",
        name=local.metadata.name,
        namespace=local.metadata.namespace,
        cluster_queue=local.spec.cluster_queue,
        cohort=spec.cohort or spec.cohort_name,
        strategy=spec.queueing_strategy,
        active=active.status == "True",
        message="" if active.status == "True" else active.message,
        pending=local.status.pending_workloads,
        admitted=local.status.admitted_workloads,
        resources=_kueue_resources(local, cluster, waiting),
        jobs=[_job(each, None) for each in own if each.is_true("Admitted")]
        + [_job(each, n) for n, each in enumerate(waiting, 1)],
    )


def _turn(workload: StoredWorkload) -> tuple[int, str]:
    return -workload.spec.priority, str(workload.metadata.creation_timestamp)


def _kueue_resources(local: StoredQueue, cluster: StoredQueue | None, waiting: Sequence[StoredWorkload]) -> list[QueueResource]:
    if cluster is None:
        usage = local.status.flavors_usage or local.status.flavor_usage
        return [
            QueueResource(resource=each.name, flavor=flavor.name, quota="", used=_text(each.total))
            for flavor in usage
            for each in flavor.resources
        ]
    used = {(flavor.name, each.name): each for flavor in cluster.status.flavors_usage for each in flavor.resources}
    found = list[QueueResource]()
    for flavor in (each for group in cluster.spec.resource_groups for each in group.flavors):
        for quota in flavor.resources:
            now = used.get((flavor.name, quota.name), _Quantity())
            found.append(
                QueueResource(
                    resource=quota.name,
                    flavor=flavor.name,
                    quota=_text(quota.nominal_quota),
                    used=_text(now.total),
                    borrowed=_text(now.borrowed) if _text(now.borrowed) != "0" else "",
                    wanted=quantities.add(_wanted(waiting, quota.name)),
                )
            )
    return found


def _wanted(waiting: Iterable[StoredWorkload], resource: str) -> list[str]:
    amounts = []
    for pod_set in (each for workload in waiting for each in workload.spec.pod_sets):
        for container in (pod_set.template.get("spec") or {}).get("containers") or ():
            amounts += [requests.of_container(container).get(resource, "0")] * pod_set.count
    return amounts or ["0"]


def volcano(queue: StoredQueue, groups: Iterable[StoredWorkload]) -> Queue:
    """Pod groups of other queues are ignored."""
    own = [each for each in groups if (each.spec.queue or "default") == queue.metadata.name and each.status.phase != "Completed"]
    waiting = sorted((each for each in own if each.status.phase in ("", "Pending")), key=_turn)
    admitted = [each for each in own if each.status.phase not in ("", "Pending")]
    names = dict.fromkeys((*queue.spec.capability, *queue.status.allocated))
    return Queue(
        system="volcano",
        name=queue.metadata.name,
        active=queue.status.state in ("", "Open"),
        message="" if queue.status.state in ("", "Open") else f"the queue is {queue.status.state}",
        pending=len(waiting),
        admitted=len(admitted),
        resources=[
            QueueResource(
                resource=name,
                quota=_text(queue.spec.capability.get(name, "")),
                used=_text(queue.status.allocated.get(name, "0")),
                wanted=quantities.add([_text(each.spec.min_resources.get(name, "0")) or "0" for each in waiting] or ["0"]),
            )
            for name in names
        ],
        jobs=[_job(each, None) for each in admitted] + _waiting(waiting),
    )


def _waiting(ordered: Sequence[StoredWorkload]) -> list[QueuedJob]:
    return [_job(each, number) for number, each in enumerate(ordered, 1)]


def _job(workload: StoredWorkload, position: int | None) -> QueuedJob:
    owner = workload.metadata.controller
    blocked = workload.condition("QuotaReserved") or workload.condition("Unschedulable")
    is_waiting = position is not None
    return QueuedJob(
        namespace=workload.metadata.namespace,
        kind=KIND_NAMES.get(owner.kind, "") if owner is not None else "",
        name=owner.name if owner is not None else workload.metadata.name,
        admitted=not is_waiting,
        position=position,
        priority=workload.spec.priority,
        reason=("Deactivated" if not workload.spec.active else blocked.reason if blocked is not None else "Pending")
        if is_waiting
        else "",
        message=blocked.message if is_waiting and blocked is not None else "",
        since=_since(workload, is_waiting),
    )


def _since(workload: StoredWorkload, is_waiting: bool) -> Time | None:
    admitted = workload.condition("Admitted")
    return workload.metadata.creation_timestamp if is_waiting or admitted is None else admitted.last_transition_time


def _text(amount: Amount) -> str:
    return str(amount) if amount == "" or quantities.is_quantity(amount) else ""
