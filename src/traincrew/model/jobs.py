"""A training job: the object in the API server, and the job with defaults."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from traincrew.apimachinery import json_nesting
from traincrew.model.managed_fields import ManagedFieldsEntry
from traincrew.model.meta import Meta, Struct
from traincrew.model.status import JobStatus

GROUP = "kubeflow.org"
MAX_REPLICAS = 20_000
"""Largest number of replicas of a role. It protects the operator from absurd numbers."""
CLEAN_POD_POLICIES = ("None", "Running", "All")


class SchedulingPolicy(Struct, gc=False):
    min_available: int | None = None
    queue: str | None = None
    min_resources: dict[str, str | int | float] | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: int | None = None


class RunPolicy(Struct):
    clean_pod_policy: str | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicaSpec(Struct):
    replicas: int | None = None
    restart_policy: str | None = None
    template: msgspec.Raw = msgspec.Raw(b"{}")
    """Decoded only when a pod is built."""

    @property
    def containers(self) -> list[dict[str, Any]]:
        return RoleSpec("", 0, "", self.template).containers


class JobSpec(Struct):
    """The spec fields of every kind. A kind adds its own fields and the name of its replica map."""

    replica_specs: dict[str, ReplicaSpec | None] | None = None
    run_policy: RunPolicy | None = None
    # Older API versions have these fields outside of runPolicy.
    clean_pod_policy: str | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None

    def policy(self) -> RunPolicy:
        """The run policy with the values of legacy fields. The values of runPolicy take precedence."""
        policy = self.run_policy or RunPolicy()
        legacy = {
            field: getattr(self, field)
            for field in (
                "clean_pod_policy",
                "ttl_seconds_after_finished",
                "active_deadline_seconds",
                "backoff_limit",
            )
            if getattr(policy, field) is None and getattr(self, field) is not None
        }
        return msgspec.structs.replace(policy, **legacy) if legacy else policy


SpecT = TypeVar("SpecT", bound=JobSpec)


class JobObject(Struct, Generic[SpecT]):
    """A job as an object of the API server."""

    spec: SpecT
    api_version: str = ""
    metadata: Meta = Meta()
    status: JobStatus = JobStatus()
    creation: ManagedFieldsEntry | None = msgspec.field(name="traincrew/creation", default=None)
    """From the managed fields: the request that created the job, if its kind has several contracts and none is recorded yet. No
    manifest has a field of this name."""


@dataclasses.dataclass(frozen=True)
class RoleSpec:
    """A role of a job, with defaults."""

    name: str
    replicas: int
    restart_policy: str
    template: msgspec.Raw

    def fresh_template(self) -> dict[str, Any]:
        """A new copy for each call, which the caller may change. Fields that are null are omitted."""
        template: dict[str, Any] = _without_nulls(msgspec.json.decode(json_nesting.limited(bytes(self.template)))) or {}
        return template

    @functools.cached_property
    def parsed(self) -> dict[str, Any]:
        """A shared copy, read-only."""
        return self.fresh_template()

    @property
    def containers(self) -> list[dict[str, Any]]:
        containers: list[dict[str, Any]] = (self.parsed.get("spec") or {}).get("containers") or []
        return containers


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_nulls(entry) for entry in value if entry is not None]
    return value


@dataclasses.dataclass(frozen=True)
class Job:
    """A job with defaults. The defaults are never written to the API server."""

    metadata: Meta
    spec: Any
    """The kind's own JobSpec, as stored."""
    policy: RunPolicy
    roles: dict[str, RoleSpec]
    """By canonical role name, in the order of the kind. Unknown roles are omitted; validation reports them."""
    status: JobStatus = JobStatus()
    ports: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    """Host ports by role: one per replica, or one for the whole role."""
    members: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    """The indexes of the replicas of roles whose number the operator chooses, in ascending order."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def suspended(self) -> bool:
        return bool(self.policy.suspend)

    def requested(self, role: str) -> int:
        """The number of replicas in the spec. Negative numbers, which some kinds accept, count as 0."""
        return min(max(self.roles[role].replicas, 0), MAX_REPLICAS) if role in self.roles else 0

    def indexes(self, role: str) -> Sequence[int]:
        """The indexes of the replicas of a role, in ascending order."""
        return self.members[role] if role in self.members else range(self.requested(role))

    def count(self, role: str) -> int:
        """The number of pods of a role."""
        return len(self.indexes(role))

    def port(self, role: str, index: int) -> int | None:
        """The host port of a replica. None: the replica listens at the port of its kind."""
        given = self.ports.get(role)
        return given[min(index, len(given) - 1)] if given else None

    @property
    def total(self) -> int:
        return sum(self.count(role) for role in self.roles)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
