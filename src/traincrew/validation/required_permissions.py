"""The permissions of the operator, of the recorder of the history and of users of jobs. Derived from `KINDS`.

`tests/install/test_permissions.py` compares the permissions of the operator with its requests to a real API server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, resources
from traincrew.model.resources import Resource
from traincrew.model.workloads import WORKLOADS


class PermissionTarget(NamedTuple):
    """What a permission is for."""

    group: str
    plural: str
    """With a subresource: `pods/exec`."""
    name: str = ""
    """The only object. Empty: all objects."""


Permissions = dict[PermissionTarget, tuple[str, ...]]
"""Verbs by target."""

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
USER_LEVELS = ("admin", "edit", "view")


def kind_permissions(kind: JobKind) -> Permissions:
    """The permissions for requests about jobs of this kind, and those that it grants to launchers: RBAC forbids escalation."""
    permissions = _permissions(resources.EVENTS, *kind.created_resources)
    if resources.ROLES in kind.created_resources:
        permissions[PermissionTarget("", "pods/exec")] = ("create",)
    if resources.BATCH_JOBS in kind.created_resources:
        permissions[PermissionTarget("batch", "jobs/status")] = ("patch",)
    permissions = merged([permissions, other_operator_permissions(kind)])
    permissions[PermissionTarget(jobs.GROUP, kind.plural)] = ("delete", "list", "watch")
    permissions[PermissionTarget(jobs.GROUP, f"{kind.plural}/status")] = ("patch",)
    # Needed for blockOwnerDeletion if the OwnerReferencesPermissionEnforcement admission plugin is on.
    permissions[PermissionTarget(jobs.GROUP, f"{kind.plural}/finalizers")] = ("update",)
    return permissions


def gang_permissions(scheduler: str) -> Permissions:
    """The permissions for the PodGroups of one of `GANG_SCHEDULERS`."""
    return _permissions(GANG_SCHEDULERS[scheduler])


def other_operator_permissions(kind: JobKind) -> Permissions:
    """The permissions in the operator's own namespace, if it does not watch it: to see a Go operator that is installed there."""
    permissions: Permissions = {PermissionTarget(resources.PODS.group, resources.PODS.plural): ("list", "watch")}
    leases = {
        PermissionTarget(resources.LEASES.group, resources.LEASES.plural, each.lease)
        for each in kind.other_operators
        if each.lease
    }
    return permissions | dict.fromkeys(leases, ("list", "watch"))


def own_namespace_permissions() -> Permissions:
    """The permissions in the namespace of the operator: leader election."""
    return {PermissionTarget(resources.LEASES.group, resources.LEASES.plural): ("create", "get", "update")}


def operator_permissions(kinds: Iterable[JobKind] = KINDS, gang_schedulers: Iterable[str] = GANG_SCHEDULERS) -> Permissions:
    """The permissions in every namespace that the operator watches."""
    return merged([*map(kind_permissions, kinds), *map(gang_permissions, gang_schedulers)])


def user_permissions(kind: JobKind, level: str) -> Permissions:
    """The permissions of users at the level admin, edit or view."""
    view = ("get", "list", "watch")
    writes = ("create", "delete", "deletecollection", "patch", "update") if level != "view" else ()
    scale = ("get", "patch", "update") if writes else ("get",)
    return {
        PermissionTarget(jobs.GROUP, kind.plural): view + writes,
        PermissionTarget(jobs.GROUP, f"{kind.plural}/status"): ("get",),
        PermissionTarget(jobs.GROUP, f"{kind.plural}/scale"): scale,
    }


def metrics_permissions() -> Permissions:
    """The permissions in the cluster for --metrics-authentication."""
    return {
        PermissionTarget("authentication.k8s.io", "tokenreviews"): ("create",),
        PermissionTarget("authorization.k8s.io", "subjectaccessreviews"): ("create",),
    }


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
    permissions: Permissions = {PermissionTarget(group, plural): ("list", "watch") for group, plural in SHARING_WATCHES}
    # Kueue admits each worker on idle capacity by a Workload, which belongs to a ConfigMap of the job.
    permissions[PermissionTarget(WORKLOADS.group, WORKLOADS.plural)] = ("create", "delete", "list", "watch")
    permissions[PermissionTarget(resources.CONFIG_MAPS.group, resources.CONFIG_MAPS.plural)] = ("create", "get")
    return permissions


def recorder_permissions() -> Permissions:
    """The permissions of the recorder of the history: it only reads."""
    view = ("list", "watch")
    return {
        **{PermissionTarget(jobs.GROUP, kind.plural): view for kind in KINDS},
        PermissionTarget("", "pods"): view,
        PermissionTarget("", "events"): view,
        PermissionTarget("", "pods/log"): ("get",),
        PermissionTarget("metrics.k8s.io", "pods"): ("list",),
    }


def merged(parts: Iterable[Permissions]) -> Permissions:
    union: Permissions = {}
    for part in parts:
        for key, verbs in part.items():
            union[key] = tuple(sorted({*union.get(key, ()), *verbs}))
    return union


def _permissions(*of: Resource) -> Permissions:
    return {PermissionTarget(each.group, each.plural): _VERBS.get(each, _MANAGE) for each in of}
