"""The RBAC manifests: the permissions of the operator, and those of users of jobs. Derived from `KINDS`.

`tests/install/test_permissions.py` compares the permissions of the operator with its requests to a real API server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from traincrew import settings
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, resources
from traincrew.model.resources import Resource

Manifest = dict[str, Any]


class Target(NamedTuple):
    """What a permission is for."""

    group: str
    plural: str
    """With a subresource: `pods/exec`."""
    name: str = ""
    """The only object. Empty: all objects."""


Permissions = dict[Target, tuple[str, ...]]
"""Verbs by target."""

NAME = "traincrew"
NAMESPACE = "kubeflow"
_MANAGE = ("create", "get", "list", "patch", "watch")
_VERBS: dict[Resource, tuple[str, ...]] = {
    resources.PODS: (*_MANAGE, "delete"),
    resources.SERVICES: (*_MANAGE, "delete"),
    # The operator never reads a secret, not even its own: `planner/name_conflicts.py`.
    resources.SECRETS: ("create",),
    resources.AUTOSCALERS: (*_MANAGE, "delete"),
    resources.VOLCANO_POD_GROUPS: (*_MANAGE, "delete"),
    resources.PLUGINS_POD_GROUPS: (*_MANAGE, "delete"),
    resources.EVENTS: ("create", "list"),
}
GANG_SCHEDULERS = {"volcano": resources.VOLCANO_POD_GROUPS, "scheduler-plugins": resources.PLUGINS_POD_GROUPS}


def kind_permissions(kind: JobKind) -> Permissions:
    """The permissions for requests about jobs of this kind, and those that it grants to launchers: RBAC forbids escalation."""
    permissions = _permissions(resources.EVENTS, *kind.created_resources)
    if resources.ROLES in kind.created_resources:
        permissions[Target("", "pods/exec")] = ("create",)
    if resources.BATCH_JOBS in kind.created_resources:
        permissions[Target("batch", "jobs/status")] = ("patch",)
    permissions = merged([permissions, other_operator_permissions(kind)])
    permissions[Target(jobs.GROUP, kind.plural)] = ("delete", "list", "watch")
    permissions[Target(jobs.GROUP, f"{kind.plural}/status")] = ("patch",)
    # Needed for blockOwnerDeletion if the OwnerReferencesPermissionEnforcement admission plugin is on.
    permissions[Target(jobs.GROUP, f"{kind.plural}/finalizers")] = ("update",)
    return permissions


def gang_permissions(scheduler: str) -> Permissions:
    """The permissions for the PodGroups of one of `GANG_SCHEDULERS`."""
    return _permissions(GANG_SCHEDULERS[scheduler])


def other_operator_permissions(kind: JobKind) -> Permissions:
    """The permissions in the operator's own namespace, if it does not watch it: to see a Go operator that is installed there."""
    permissions: Permissions = {Target(resources.PODS.group, resources.PODS.plural): ("list", "watch")}
    leases = {Target(resources.LEASES.group, resources.LEASES.plural, each.lease) for each in kind.other_operators if each.lease}
    return permissions | dict.fromkeys(leases, ("list", "watch"))


def own_namespace_permissions() -> Permissions:
    """The permissions in the namespace of the operator: leader election."""
    return {Target(resources.LEASES.group, resources.LEASES.plural): ("create", "get", "update")}


def operator_permissions(kinds: Iterable[JobKind] = KINDS, gang_schedulers: Iterable[str] = GANG_SCHEDULERS) -> Permissions:
    """The permissions in every namespace that the operator watches."""
    return merged([*map(kind_permissions, kinds), *map(gang_permissions, gang_schedulers)])


def operator_rules() -> list[Manifest]:
    """The permissions in every namespace that an operator for all kinds watches, with either gang scheduler."""
    return rules(operator_permissions())


def own_namespace_rules() -> list[Manifest]:
    return rules(own_namespace_permissions())


def user_permissions(kind: JobKind, level: str) -> Permissions:
    """The permissions of users at the level admin, edit or view."""
    view = ("get", "list", "watch")
    writes = ("create", "delete", "deletecollection", "patch", "update") if level != "view" else ()
    scale = ("get", "patch", "update") if writes else ("get",)
    return {
        Target(jobs.GROUP, kind.plural): view + writes,
        Target(jobs.GROUP, f"{kind.plural}/status"): ("get",),
        Target(jobs.GROUP, f"{kind.plural}/scale"): scale,
    }


def metrics_permissions() -> Permissions:
    """The permissions in the cluster for --metrics-authentication."""
    return {
        Target("authentication.k8s.io", "tokenreviews"): ("create",),
        Target("authorization.k8s.io", "subjectaccessreviews"): ("create",),
    }


def metrics_documents() -> list[Manifest]:
    """For --metrics-authentication: what the operator needs in addition, and the ClusterRole of those who read the metrics."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    name = f"{NAME}-metrics-authentication"
    reader = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    return [
        _role("ClusterRole", {"name": name}, rules(metrics_permissions())),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", account),
        _role("ClusterRole", {"name": f"{NAME}-metrics-reader"}, reader),
    ]


SURPLUS_PRIORITY = -1000
"""Below every other priority, and below the -10 from which the cluster autoscaler takes pods into account."""


SHARING_WATCHES = (
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "resourcequotas"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
)


def sharing_permissions() -> Permissions:
    """The permissions in the cluster to choose the workers of elastic jobs."""
    return {Target(group, plural): ("list", "watch") for group, plural in SHARING_WATCHES}


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
        _role("ClusterRole", {"name": name}, rules(sharing_permissions())),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", account),
        priority,
    ]


USER_LEVELS = ("admin", "edit", "view")


def user_labels(level: str) -> dict[str, str]:
    """Labels by which the ClusterRoles of Kubernetes and of Kubeflow take the permissions over."""
    return {
        f"rbac.authorization.k8s.io/aggregate-to-{level}": "true",
        f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{level}": "true",
    }


def merged(parts: Iterable[Permissions]) -> Permissions:
    union: Permissions = {}
    for part in parts:
        for key, verbs in part.items():
            union[key] = tuple(sorted({*union.get(key, ()), *verbs}))
    return union


def rules(permissions: Permissions) -> list[Manifest]:
    """One rule for all resources of a group with the same verbs, in a stable order."""
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for target, verbs in sorted(permissions.items()):
        found.setdefault((target.group, target.name, tuple(sorted(verbs))), []).append(target.plural)
    return [
        {"apiGroups": [group], "resources": plurals, **({"resourceNames": [name]} if name else {}), "verbs": list(verbs)}
        for (group, name, verbs), plurals in found.items()
    ]


def _permissions(*of: Resource) -> Permissions:
    return {Target(each.group, each.plural): _VERBS.get(each, _MANAGE) for each in of}


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
    for level in USER_LEVELS:
        granted = rules(merged(user_permissions(kind, level) for kind in KINDS))
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
