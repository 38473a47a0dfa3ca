"""The RBAC manifests: service accounts, roles and bindings with the required permissions."""

from __future__ import annotations

from typing import Any

from traincrew import settings
from traincrew.kinds import KINDS
from traincrew.validation import required_permissions
from traincrew.validation.required_permissions import Permissions

Manifest = dict[str, Any]


NAME = "traincrew"
NAMESPACE = "kubeflow"


def operator_rules() -> list[Manifest]:
    """The permissions in every namespace that an operator for all kinds watches, with either gang scheduler."""
    return rules(required_permissions.operator_permissions())


def own_namespace_rules() -> list[Manifest]:
    return rules(required_permissions.own_namespace_permissions())


def metrics_documents() -> list[Manifest]:
    """For --metrics-authentication: what the operator needs in addition, and the ClusterRole of those who read the metrics."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    name = f"{NAME}-metrics-authentication"
    reader = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    return [
        _role("ClusterRole", {"name": name}, rules(required_permissions.metrics_permissions())),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", account),
        _role("ClusterRole", {"name": f"{NAME}-metrics-reader"}, reader),
    ]


SURPLUS_PRIORITY = -1000
"""Below every other priority, and below the -10 from which the cluster autoscaler takes pods into account."""


def sharing_documents() -> list[Manifest]:
    """What the operator needs in addition to choose the workers of elastic jobs, and the priority of workers on idle capacity."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    name = f"{NAME}-sharing"
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": settings.Planning().surplus_class},
        "value": SURPLUS_PRIORITY,
        "preemptionPolicy": "Never",
        "description": "Workers of elastic jobs on idle capacity. Every other pod comes before them.",
    }
    return [
        _role("ClusterRole", {"name": name}, rules(required_permissions.sharing_permissions())),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", account),
        priority,
    ]


RECORDER = f"{NAME}-recorder"


def recorder_documents() -> list[Manifest]:
    """The service account of the recorder with its permissions."""
    account = {"kind": "ServiceAccount", "name": RECORDER, "namespace": NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": RECORDER, "namespace": NAMESPACE}},
        _role("ClusterRole", {"name": RECORDER}, rules(required_permissions.recorder_permissions())),
        _binding("ClusterRoleBinding", {"name": RECORDER}, "ClusterRole", account),
    ]


def user_labels(level: str) -> dict[str, str]:
    """Labels by which the ClusterRoles of Kubernetes and of Kubeflow take the permissions over."""
    return {
        f"rbac.authorization.k8s.io/aggregate-to-{level}": "true",
        f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{level}": "true",
    }


def rules(permissions: Permissions) -> list[Manifest]:
    """One rule for all resources of a group with the same verbs, in a stable order."""
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for target, verbs in sorted(permissions.items()):
        found.setdefault((target.group, target.name, tuple(sorted(verbs))), []).append(target.plural)
    return [
        {"apiGroups": [group], "resources": plurals, **({"resourceNames": [name]} if name else {}), "verbs": list(verbs)}
        for (group, name, verbs), plurals in found.items()
    ]


def documents() -> list[Manifest]:
    """The service account of the operator with its roles and bindings, and the aggregated ClusterRoles for users."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    manifests = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _in_namespace()},
        _role("ClusterRole", {"name": NAME}, operator_rules()),
        _binding("ClusterRoleBinding", {"name": NAME}, "ClusterRole", account),
        _role("Role", _in_namespace(), own_namespace_rules()),
        _binding("RoleBinding", _in_namespace(), "Role", account),
    ]
    for level in required_permissions.USER_LEVELS:
        granted = rules(required_permissions.merged(required_permissions.user_permissions(kind, level) for kind in KINDS))
        manifests.append(_role("ClusterRole", {"name": f"kubeflow-training-{level}", "labels": user_labels(level)}, granted))
    return manifests


def namespaced_role() -> Manifest:
    """The only Role of an operator that watches its own namespace."""
    return _role("Role", _in_namespace(), operator_rules() + own_namespace_rules())


def _in_namespace() -> Manifest:
    return {"name": NAME, "namespace": NAMESPACE}


def _role(kind: str, meta: Manifest, granted: list[Manifest]) -> Manifest:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": granted}


def _binding(kind: str, meta: Manifest, to: str, account: Manifest) -> Manifest:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": to, "name": meta["name"]}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": meta,
        "roleRef": reference,
        "subjects": [account],
    }
