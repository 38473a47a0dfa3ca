"""The jobs whose pods hold resources of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.apimachinery import quantities
from traincrew.console.contract.scheduling_fit import Holder
from traincrew.kinds import KINDS
from traincrew.model import naming
from traincrew.scheduling import resource_requests
from traincrew.scheduling.pod_info import PodInfo

MAX_HOLDERS = 50
_NANO, _MILLI = 1_000_000_000, 1_000_000
_KINDS = {each.controller: kind.singular for kind in KINDS for each in (kind, *kind.variants.values())}


def job_of(pod: PodInfo) -> str:
    """`namespace/kind/name`. Empty: the pod belongs to no job."""
    labels = pod.metadata.labels
    kind, name = _KINDS.get(labels.get(naming.OPERATOR_NAME, ""), ""), labels.get(naming.JOB_NAME, "")
    return f"{pod.metadata.namespace}/{kind}/{name}" if kind and name else ""


def others(pods: Sequence[PodInfo], own: str) -> list[Holder]:
    """own: the job that is not listed."""
    held: dict[str, list[PodInfo]] = {}
    for pod in pods:
        if pod.spec.node_name and not pod.finished and (job := job_of(pod)) and job != own:
            held.setdefault(job, []).append(pod)
    ordered = sorted(held.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [_holder(job, found) for job, found in ordered[:MAX_HOLDERS]]


def _holder(job: str, pods: Sequence[PodInfo]) -> Holder:
    namespace, kind, name = job.split("/")
    total = resource_requests.total([pod.requests for pod in pods])
    requests = {resource: _quantity(resource, amount) for resource, amount in total.items()}
    return Holder(namespace=namespace, kind=kind, name=name, pods=len(pods), requests=requests)


def _quantity(resource: str, amount: int) -> str:
    """cpu is counted in thousandths."""
    if resource == "cpu":
        return quantities.from_nanos(amount * _MILLI, "DecimalSI").canonical()
    return quantities.from_nanos(amount * _NANO, "BinarySI" if resource == "memory" else "DecimalSI").canonical()
