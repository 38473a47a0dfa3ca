"""The pod of the scheduler, decoded once, with its requests and host ports."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
from collections.abc import Mapping

import msgspec

from traincrew.apimachinery import times
from traincrew.apimachinery.unstructured import Object
from traincrew.model.meta import Meta
from traincrew.scheduling import resource_requests
from traincrew.scheduling.objects import Pod, PodSpec, PodStatus

HostPort = tuple[str, str, int]
"""Address, protocol, number."""
LabelKey = tuple[str, frozenset[tuple[str, str]]]
"""Namespace and labels."""
PREEMPTION_REASON = "PreemptionByScheduler"

_decode = msgspec.json.Decoder(Pod).decode


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    metadata: Meta
    spec: PodSpec
    status: PodStatus
    requests: Mapping[str, int]
    ports: tuple[HostPort, ...]
    label_key: LabelKey
    """Equal for pods that every term selects alike."""
    selection_key: bytes
    """Equal for pods that select the same pods by affinity and spread constraints. Empty: the pod selects none."""

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def full_name(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def created(self) -> dt.datetime:
        return self.metadata.creation_timestamp or times.ZERO

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def pending(self) -> bool:
        """Whether the pod waits for a node: it is neither gated nor terminating."""
        return not (self.spec.node_name or self.spec.scheduling_gates or self.terminating or self.finished)

    @property
    def preempted(self) -> bool:
        """Whether the pod terminates as a victim of preemption."""
        condition = self.status.condition("DisruptionTarget")
        return self.terminating and condition is not None and condition.status == "True" and condition.reason == PREEMPTION_REASON

    def with_node(self, node: str) -> PodInfo:
        """The same pod on a node."""
        return dataclasses.replace(self, spec=msgspec.structs.replace(self.spec, node_name=node))

    def affinity_terms(self, kind: str, strength: str) -> list[Object]:
        """kind: podAffinity or podAntiAffinity; strength: required or preferred."""
        terms = ((self.spec.affinity or {}).get(kind) or {}).get(f"{strength}DuringSchedulingIgnoredDuringExecution")
        return terms or []


def decode(raw: bytes) -> PodInfo:
    return from_pod(_decode(raw))


def from_pod(pod: Pod) -> PodInfo:
    ports = tuple(
        (port.host_ip or "0.0.0.0", port.protocol, port.host_port)  # noqa: S104 - means all addresses
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    )
    requests, labels = resource_requests.pod_requests(pod.spec), (pod.metadata.namespace, frozenset(pod.metadata.labels.items()))
    return PodInfo(pod.metadata, pod.spec, pod.status, requests, ports, labels, _selection_key(pod))


def _selection_key(pod: Pod) -> bytes:
    terms = [(pod.spec.affinity or {}).get(kind) for kind in ("podAffinity", "podAntiAffinity")]
    constraints = pod.spec.topology_spread_constraints
    if not any(terms) and not constraints:
        return b""
    # matchLabelKeys of constraints refer to the labels of the pod.
    labels = sorted(pod.metadata.labels.items()) if constraints else ()
    return hashlib.sha256(msgspec.json.encode((pod.metadata.namespace, terms, constraints, labels))).digest()
