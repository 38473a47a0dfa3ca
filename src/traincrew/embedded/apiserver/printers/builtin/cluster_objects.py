"""Namespaces, nodes, config maps, secrets, service accounts, RBAC, quotas, leases, priority classes."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import UNKNOWN, Ages
from traincrew.embedded.apiserver.printers.builtin.cells import (
    NONE,
    Condition,
    Fields,
    LabelledMetadata,
    Metadata,
    Quantity,
    Reference,
    condition,
)
from traincrew.embedded.apiserver.printers.columns import Printer, definitions

_ROLE = "node-role.kubernetes.io/"
_OLD_ROLE = "kubernetes.io/role"


class _Object(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class Phase(Fields):
    phase: str = ""


class Namespace(_Object):
    status: Phase = msgspec.field(default_factory=Phase)


def _namespace(kept: Namespace, ages: Ages) -> list[Any]:
    return [kept.metadata.name, kept.status.phase, ages.since(kept.metadata.creation_timestamp)]


class NodeSpec(Fields):
    unschedulable: bool = False


class NodeAddress(Fields):
    type: str = ""
    address: str = ""


class NodeSystemInfo(Fields):
    kubelet_version: str = ""
    os_image: str = ""
    kernel_version: str = ""
    container_runtime_version: str = ""


class NodeStatus(Fields):
    conditions: list[Condition] = []
    addresses: list[NodeAddress] = []
    node_info: NodeSystemInfo = msgspec.field(default_factory=NodeSystemInfo)


class Node(Fields):
    metadata: LabelledMetadata = msgspec.field(default_factory=LabelledMetadata)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


def _node(kept: Node, ages: Ages) -> list[Any]:
    info = kept.status.node_info
    ready = condition(kept.status.conditions, "Ready")
    state = "Unknown" if not ready else "Ready" if ready == "True" else "NotReady"
    if kept.spec.unschedulable:
        state += ",SchedulingDisabled"
    cells = [kept.metadata.name, state, _roles(kept.metadata.labels), ages.since(kept.metadata.creation_timestamp)]
    cells += [info.kubelet_version, _address(kept, "InternalIP"), _address(kept, "ExternalIP")]
    return cells + [each or UNKNOWN for each in (info.os_image, info.kernel_version, info.container_runtime_version)]


def _roles(labels: dict[str, str]) -> str:
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)} | {labels.get(_OLD_ROLE, "")}
    return ",".join(sorted(roles - {""})) or NONE


def _address(kept: Node, type: str) -> str:
    return next((each.address for each in kept.status.addresses if each.type == type), NONE)


class ConfigMap(_Object):
    data: dict[str, msgspec.Raw] = {}
    binary_data: dict[str, msgspec.Raw] = {}


def _config_map(kept: ConfigMap, ages: Ages) -> list[Any]:
    return [kept.metadata.name, len(kept.data) + len(kept.binary_data), ages.since(kept.metadata.creation_timestamp)]


class Secret(_Object):
    type: str = ""
    data: dict[str, msgspec.Raw] = {}


def _secret(kept: Secret, ages: Ages) -> list[Any]:
    return [kept.metadata.name, kept.type, len(kept.data), ages.since(kept.metadata.creation_timestamp)]


class ServiceAccount(_Object):
    secrets: list[Fields] = []


def _service_account(kept: ServiceAccount, ages: Ages) -> list[Any]:
    return [kept.metadata.name, len(kept.secrets), ages.since(kept.metadata.creation_timestamp)]


class RoleBinding(_Object):
    role_ref: Reference = msgspec.field(default_factory=Reference)
    subjects: list[Reference] = []


def _binding(kept: RoleBinding, ages: Ages) -> list[Any]:
    named = {kind: ", ".join(each.name for each in kept.subjects if each.kind == kind) for kind in ("User", "Group")}
    accounts = ", ".join(f"{each.namespace}/{each.name}" for each in kept.subjects if each.kind == "ServiceAccount")
    role = f"{kept.role_ref.kind}/{kept.role_ref.name}"
    age = ages.since(kept.metadata.creation_timestamp)
    return [kept.metadata.name, role, age, named["User"], named["Group"], accounts]


class QuotaStatus(Fields):
    hard: dict[str, Quantity] = {}
    used: dict[str, Quantity] = {}


class ResourceQuota(_Object):
    status: QuotaStatus = msgspec.field(default_factory=QuotaStatus)


def _quota(kept: ResourceQuota, ages: Ages) -> list[Any]:
    hard, used = kept.status.hard, kept.status.used
    usage = [(name.startswith("limits."), f"{name}: {used.get(name, 0)}/{hard[name]}") for name in sorted(hard)]
    columns = [", ".join(text for limit, text in usage if limit is is_limit) for is_limit in (False, True)]
    return [kept.metadata.name, ages.since(kept.metadata.creation_timestamp), *columns]


class LeaseSpec(Fields):
    holder_identity: str = ""


class Lease(_Object):
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


def _lease(kept: Lease, ages: Ages) -> list[Any]:
    return [kept.metadata.name, kept.spec.holder_identity, ages.since(kept.metadata.creation_timestamp)]


class PriorityClass(_Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


def _priority_class(kept: PriorityClass, ages: Ages) -> list[Any]:
    age = ages.since(kept.metadata.creation_timestamp)
    return [kept.metadata.name, kept.value, kept.global_default, age, kept.preemption_policy]


_MACHINE = ("Internal-IP*", "External-IP*", "OS-Image*", "Kernel-Version*", "Container-Runtime*")
_BINDING = definitions("Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*")
_PRIORITY = definitions("Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy")
PRINTERS = {
    ("", "Namespace"): Printer(definitions("Name", "Status", "Age"), Namespace, _namespace),
    ("", "Node"): Printer(definitions("Name", "Status", "Roles", "Age", "Version", *_MACHINE), Node, _node),
    ("", "ConfigMap"): Printer(definitions("Name", "Data", "Age"), ConfigMap, _config_map),
    ("", "Secret"): Printer(definitions("Name", "Type", "Data", "Age"), Secret, _secret),
    ("", "ServiceAccount"): Printer(definitions("Name", "Secrets", "Age"), ServiceAccount, _service_account),
    ("", "ResourceQuota"): Printer(definitions("Name", "Age", "Request", "Limit"), ResourceQuota, _quota),
    ("rbac.authorization.k8s.io", "RoleBinding"): Printer(_BINDING, RoleBinding, _binding),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): Printer(_BINDING, RoleBinding, _binding),
    ("coordination.k8s.io", "Lease"): Printer(definitions("Name", "Holder", "Age"), Lease, _lease),
    ("scheduling.k8s.io", "PriorityClass"): Printer(_PRIORITY, PriorityClass, _priority_class),
}
