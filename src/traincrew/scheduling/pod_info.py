"""A pod as placement sees it: decoded once, with what every look at it would reckon again."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

import msgspec

from traincrew.model.meta import Meta
from traincrew.scheduling import resource_requests
from traincrew.scheduling.objects import Object, PodSpec, PodStatus, RawPod

HostPort = tuple[str, str, int]
"""Address, protocol, number."""
EVER = dt.datetime.min.replace(tzinfo=dt.UTC)
PREEMPTED = "PreemptionByScheduler"

_decode = msgspec.json.Decoder(RawPod).decode


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    metadata: Meta
    spec: PodSpec
    status: PodStatus
    wanted: Mapping[str, int]
    ports: tuple[HostPort, ...]

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def title(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def since(self) -> dt.datetime:
        return self.metadata.creation_timestamp or EVER

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def pending(self) -> bool:
        """Whether it waits for a node: not gated, not on its way out."""
        return not (self.spec.node_name or self.spec.scheduling_gates or self.terminating or self.finished)

    @property
    def preempted(self) -> bool:
        """Whether it is on its way out to make room for another."""
        told = self.status.condition("DisruptionTarget")
        return self.terminating and told is not None and told.status == "True" and told.reason == PREEMPTED

    def on(self, node: str) -> PodInfo:
        """The same pod, bound."""
        return dataclasses.replace(self, spec=msgspec.structs.replace(self.spec, node_name=node))

    def terms(self, kind: str, strength: str) -> list[Object]:
        """Of its affinity: kind podAffinity or podAntiAffinity, strength required or preferred."""
        found = ((self.spec.affinity or {}).get(kind) or {}).get(f"{strength}DuringSchedulingIgnoredDuringExecution")
        return found or []


def decode(raw: bytes) -> PodInfo:
    return of(_decode(raw))


def of(raw: RawPod) -> PodInfo:
    ports = tuple(
        (port.host_ip or "0.0.0.0", port.protocol, port.host_port)  # noqa: S104 - means all addresses
        for container in raw.spec.containers
        for port in container.ports
        if port.host_port
    )
    return PodInfo(raw.metadata, raw.spec, raw.status, resource_requests.of_pod(raw.spec), ports)
