"""The API objects that the scheduler reads, with the fields that it needs."""

from __future__ import annotations

import msgspec

from traincrew.apimachinery.unstructured import Object
from traincrew.model.meta import Meta, Struct, Time


class ResourceRequirements(Struct):
    requests: dict[str, str | int | float] | None = None


class ContainerPort(Struct, gc=False):
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(Struct):
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = []
    restart_policy: str | None = None


class Toleration(Struct, gc=False):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class SchedulingGate(Struct, gc=False):
    name: str = ""


class ClaimSource(Struct, gc=False):
    claim_name: str = ""


class Volume(Struct):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Object | None = None


class PodSpec(Struct):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: str | None = None
    node_selector: dict[str, str] = {}
    affinity: Object | None = None
    tolerations: list[Toleration] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: dict[str, str | int | float] = {}
    resources: ResourceRequirements = ResourceRequirements()
    scheduling_gates: list[SchedulingGate] = []
    volumes: list[Volume] = []
    resource_claims: list[Object] = []
    topology_spread_constraints: list[Object] = []


class Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(Struct):
    phase: str = "Pending"
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: list[Condition] = []

    def condition(self, type: str) -> Condition | None:
        return next((each for each in self.conditions if each.type == type), None)


class Pod(Struct):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Struct, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct):
    unschedulable: bool = False
    taints: list[Taint] = []


class NodeStatus(Struct):
    allocatable: dict[str, str | int | float] = {}
    conditions: list[Condition] = []


class Node(Struct):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name


class PersistentVolumeClaimSpec(Struct):
    volume_name: str = ""
    storage_class_name: str | None = None


class PersistentVolumeClaimStatus(Struct, gc=False):
    phase: str = ""


class PersistentVolumeClaim(Struct):
    metadata: Meta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class PersistentVolumeSpec(Struct):
    node_affinity: Object | None = None


class PersistentVolume(Struct):
    metadata: Meta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class StorageClass(Struct):
    metadata: Meta
    volume_binding_mode: str = "Immediate"


class PriorityClass(Struct):
    metadata: Meta
    value: int = 0


class PartialObjectMetadata(Struct):
    metadata: Meta


class PodGroupSpec(Struct):
    min_member: int = 0
    min_resources: dict[str, str | int | float] | None = None
    priority_class_name: str = ""


class PodGroupStatus(Struct):
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    scheduled: int = 0


class PodGroup(Struct):
    """A PodGroup, of Volcano or of scheduler-plugins."""

    metadata: Meta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
