"""The objects that placement reads, with just the fields that it looks at."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.model.meta import Meta, Struct, Time

Object = dict[str, Any]


class Resources(Struct):
    requests: dict[str, str | int | float] | None = None


class Port(Struct, gc=False):
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(Struct):
    resources: Resources = Resources()
    ports: list[Port] = []
    restart_policy: str | None = None


class Toleration(Struct, gc=False):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Gate(Struct, gc=False):
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
    resources: Resources = Resources()
    scheduling_gates: list[Gate] = []
    volumes: list[Volume] = []
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


class RawPod(Struct):
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


class ClaimSpec(Struct):
    volume_name: str = ""
    storage_class_name: str | None = None


class Phase(Struct, gc=False):
    phase: str = ""


class Claim(Struct):
    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: Phase = Phase()


class VolumeSpec(Struct):
    node_affinity: Object | None = None


class PersistentVolume(Struct):
    metadata: Meta
    spec: VolumeSpec = VolumeSpec()


class StorageClass(Struct):
    metadata: Meta
    volume_binding_mode: str = "Immediate"


class PriorityClass(Struct):
    metadata: Meta
    value: int = 0


class Labelled(Struct):
    metadata: Meta


class GroupSpec(Struct):
    min_member: int = 0
    min_resources: dict[str, str | int | float] | None = None
    priority_class_name: str = ""


class GroupStatus(Struct):
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    scheduled: int = 0


class Group(Struct):
    """A PodGroup, of Volcano or of scheduler-plugins."""

    metadata: Meta
    spec: GroupSpec = GroupSpec()
    status: GroupStatus = GroupStatus()
