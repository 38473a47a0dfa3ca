"""The RBAC manifests: the permissions of the operator, and those of users of jobs. Derived from `KINDS`."""

from __future__ import annotations

from typing import Any

from traincrew.kinds import KINDS
from traincrew.model import jobs, resources
from traincrew.model.resources import Resource

Manifest = dict[str, Any]

NAME = "traincrew"
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


def operator_rules() -> list[Manifest]:
    """The permissions for all requests of the operator, and those that it grants to launchers: RBAC forbids escalation."""
    created = {resource for kind in KINDS for resource in kind.created_resources}
    always = {resources.EVENTS, resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS}
    permissions = {(each.group, each.plural): _VERBS.get(each, _MANAGE) for each in created | always}
    permissions["", "pods/exec"] = ("create",)
    permissions["batch", "jobs/status"] = ("patch",)
    for kind in KINDS:
        permissions[jobs.GROUP, kind.plural] = ("delete", "get", "list", "watch")
        permissions[jobs.GROUP, f"{kind.plural}/status"] = ("patch",)
        # Needed for blockOwnerDeletion if the OwnerReferencesPermissionEnforcement admission plugin is on.
        permissions[jobs.GROUP, f"{kind.plural}/finalizers"] = ("update",)
    return [*_rules(permissions), _read_other_leases()]


def _read_other_leases() -> Manifest:
    """Leases of other operators for the same kinds: whoever holds one is running."""
    names = sorted({each.lease for kind in KINDS for each in kind.other_operators if each.lease})
    verbs = ["list", "watch"]
    return {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": names, "verbs": verbs}


def lease_rules() -> list[Manifest]:
    return [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}]


def user_rules(verbs: tuple[str, ...], status: tuple[str, ...] = ("get",)) -> list[Manifest]:
    permissions = {(jobs.GROUP, kind.plural): verbs for kind in KINDS}
    permissions |= {(jobs.GROUP, f"{kind.plural}/status"): status for kind in KINDS}
    permissions |= {(jobs.GROUP, f"{kind.plural}/scale"): tuple({"get", *verbs} & {"get", "patch", "update"}) for kind in KINDS}
    return _rules(permissions)


def _rules(permissions: dict[tuple[str, str], tuple[str, ...]]) -> list[Manifest]:
    """One rule for all resources of a group with the same verbs, in a stable order."""
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, plural), verbs in sorted(permissions.items()):
        rules.setdefault((group, tuple(sorted(verbs))), []).append(plural)
    return [{"apiGroups": [group], "resources": plurals, "verbs": list(verbs)} for (group, verbs), plurals in rules.items()]


def documents() -> list[Manifest]:
    """The service account of the operator with its roles and bindings, and the aggregated ClusterRoles for users."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": "kubeflow"}
    manifests = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": "kubeflow"}},
        _role("ClusterRole", {"name": NAME}, operator_rules()),
        _binding("ClusterRoleBinding", {"name": NAME}, "ClusterRole", account),
        _role("Role", {"name": NAME, "namespace": "kubeflow"}, lease_rules()),
        _binding("RoleBinding", {"name": NAME, "namespace": "kubeflow"}, "Role", account),
    ]
    edit = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    for level, verbs in (("admin", edit), ("edit", edit), ("view", ("get", "list", "watch"))):
        labels = {f"rbac.authorization.k8s.io/aggregate-to-{level}": "true"}
        labels[f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{level}"] = "true"
        manifests.append(_role("ClusterRole", {"name": f"kubeflow-training-{level}", "labels": labels}, user_rules(verbs)))
    return manifests


def _role(kind: str, meta: Manifest, rules: list[Manifest]) -> Manifest:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": rules}


def _binding(kind: str, meta: Manifest, to: str, account: Manifest) -> Manifest:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": to, "name": NAME}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": meta,
        "roleRef": reference,
        "subjects": [account],
    }
