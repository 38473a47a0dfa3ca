"""The fields of a pod that controllers need: few, since there may be thousands of pods."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from traincrew.model import meta
from traincrew.scheduling.objects import Toleration

TRACKING = "batch.kubernetes.io/job-tracking"


class PodMeta(meta.Meta):
    finalizers: list[str] = []


class ContainerPort(meta.Struct):
    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class Resources(meta.Struct):
    requests: dict[str, str] = {}


class Container(meta.Struct):
    name: str = ""
    restart_policy: str = ""
    ports: list[ContainerPort] = []
    resources: Resources = Resources()


class ClaimSource(meta.Struct):
    claim_name: str = ""


class Volume(meta.Struct):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None


class PodSpec(meta.Struct):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: list[Container] = []
    init_containers: list[Container] = []
    volumes: list[Volume] = []
    tolerations: list[Toleration] = []


class Terminated(meta.Struct):
    exit_code: int = 0
    finished_at: dt.datetime | None = None


class ContainerState(meta.Struct):
    terminated: Terminated | None = None


class ContainerStatus(meta.Struct):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()


class Condition(meta.Struct):
    type: str = ""
    status: str = ""
    last_transition_time: dt.datetime | None = None


class PodIP(meta.Struct):
    ip: str = ""


class PodStatus(meta.Struct):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: list[PodIP] = msgspec.field(default=[], name="podIPs")
    start_time: dt.datetime | None = None
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class Pod(meta.Struct):
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, type: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == type), None)

    @property
    def ready(self) -> bool:
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    @property
    def ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def deleted(self) -> bool:
        """The pod has a deletion timestamp."""
        return self.metadata.deletion_timestamp is not None

    @property
    def active(self) -> bool:
        return not self.ended and not self.deleted

    @property
    def terminating(self) -> bool:
        return not self.ended and self.deleted

    @property
    def tracked(self) -> bool:
        """The Job controller has not counted the end of this pod yet."""
        return TRACKING in self.metadata.finalizers

    @property
    def addresses(self) -> list[str]:
        addresses = [each.ip for each in self.status.pod_ips]
        return addresses or ([self.status.pod_ip] if self.status.pod_ip else [])

    @property
    def claims(self) -> list[str]:
        """The names of the claims that the pod uses."""
        named = [each.persistent_volume_claim.claim_name for each in self.spec.volumes if each.persistent_volume_claim]
        return named + self.own_claims

    @property
    def own_claims(self) -> list[str]:
        """The claims of its ephemeral volumes, named after pod and volume."""
        return [f"{self.metadata.name}-{each.name}" for each in self.spec.volumes if each.ephemeral is not None]


decode = msgspec.json.Decoder(Pod).decode
