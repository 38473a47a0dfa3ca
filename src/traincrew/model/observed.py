"""The observed state of one job: the objects and facts on which its plan depends."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from typing import Any

from traincrew import settings
from traincrew.model import elastic_allocation, objects, resources
from traincrew.model.lenient_decoding import Unreadable
from traincrew.model.meta import Time
from traincrew.model.resources import Resource


@dataclasses.dataclass(frozen=True)
class RejectedWrite:
    """A write that the API server rejected. It is kept until the same write succeeds or is no longer planned."""

    resource: Resource
    name: str
    reason: str
    """The Status reason, such as Forbidden, Invalid or AlreadyExists."""
    message: str
    foreign: bool = False
    """An object of that name exists and does not belong to the job."""
    quota_exceeded: bool = False
    """A quota of the namespace does not allow the object."""


@dataclasses.dataclass(frozen=True)
class PodWarning:
    """A warning event about a pod."""

    reason: str
    message: str
    time: Time | None = None


_FIELDS = {
    resources.PODS: "pods",
    resources.SERVICES: "services",
    resources.CONFIG_MAPS: "config_maps",
    resources.ROLES: "roles",
    resources.ROLE_BINDINGS: "role_bindings",
    resources.SERVICE_ACCOUNTS: "service_accounts",
    resources.BATCH_JOBS: "batch_jobs",
    resources.AUTOSCALERS: "autoscalers",
    resources.VOLCANO_POD_GROUPS: "pod_groups",
    resources.PLUGINS_POD_GROUPS: "pod_groups",
}


@dataclasses.dataclass(frozen=True)
class UnreadableObject:
    """An object, the job itself or one of its own, of which parts cannot be read. They are ignored."""

    kind: str
    name: str
    parts: tuple[Unreadable, ...]


@dataclasses.dataclass(frozen=True)
class Observed:
    pods: tuple[objects.Pod, ...] = ()
    services: tuple[objects.Plain, ...] = ()
    config_maps: tuple[objects.ConfigMap, ...] = ()
    roles: tuple[objects.RbacRole, ...] = ()
    role_bindings: tuple[objects.Plain, ...] = ()
    service_accounts: tuple[objects.Plain, ...] = ()
    batch_jobs: tuple[objects.BatchJob, ...] = ()
    autoscalers: tuple[objects.Autoscaler, ...] = ()
    pod_groups: tuple[objects.PodGroup, ...] = ()
    vanished: tuple[objects.Pod, ...] = ()
    """Last state of pods that were deleted by others than this operator, until their loss is recorded."""
    known: frozenset[tuple[str, str]] = frozenset()
    """(plural, name) of existing objects that are not watched: secrets, service accounts of users."""
    rejected_writes: tuple[RejectedWrite, ...] = ()
    name_conflicts: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Names of objects that the operator must not read, as in `status.nameConflicts`: whether others have taken them."""
    pod_events: Mapping[str, tuple[PodWarning, ...]] = dataclasses.field(default_factory=dict)
    """Warnings about pods by UID. The entry exists, possibly empty, once the events have been listed."""
    used_ports: Container[int] = frozenset()
    """Host ports of other jobs."""
    unreadable: tuple[UnreadableObject, ...] = ()
    planning: settings.Planning = settings.Planning()
    expected_capacity: str = ""
    """Which workers of elastic jobs are removed for the pods of this job."""
    allocation: elastic_allocation.Allocation | None = None
    """The workers of an elastic job. None: not decided since the operator started."""
    decision_failure: str = ""
    """Why the operator has not decided for a while: the allocation is an old one."""

    def find(self, resource: Resource, name: str) -> Any:
        """The object of a watched resource, or None."""
        return next((entry for entry in getattr(self, _FIELDS[resource]) if entry.metadata.name == name), None)

    def exists(self, resource: Resource, name: str) -> bool:
        if (resource.plural, name) in self.known:
            return True
        return resource in _FIELDS and self.find(resource, name) is not None
