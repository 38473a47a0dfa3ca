"""A training job: as it is stored, and as it is meant once the defaults are filled in."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from traincrew.model.meta import Meta, Struct
from traincrew.model.status import JobStatus

GROUP = "kubeflow.org"
MOST = 20_000
"""Replicas of one role that a job may ask for; a number of ten digits must not bring the operator to its knees."""


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
    """Stays raw until a pod is made of it."""


class JobSpec(Struct):
    """What every kind has. A kind adds its own fields and names its replica map."""

    replica_specs: dict[str, ReplicaSpec | None] | None = None
    run_policy: RunPolicy | None = None
    # Where tf-operator and pytorch-operator had these before runPolicy; MPIJob v1 still has the first.
    clean_pod_policy: str | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None

    def policy(self) -> RunPolicy:
        """The run policy with the legacy fields folded in; runPolicy's own values win."""
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
    """A job object as the API server holds it."""

    spec: SpecT
    api_version: str = ""
    metadata: Meta = Meta()
    status: JobStatus = JobStatus()


@dataclasses.dataclass(frozen=True)
class RoleSpec:
    """One role of a job after defaulting."""

    name: str
    replicas: int
    restart_policy: str
    template: msgspec.Raw

    def fresh_template(self) -> dict[str, Any]:
        """A new copy on every call: the caller may change it. A field that is null counts as left out."""
        template: dict[str, Any] = _without_nulls(msgspec.json.decode(self.template)) or {}
        return template

    @functools.cached_property
    def parsed(self) -> dict[str, Any]:
        """One shared copy, for reading only."""
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
    """A job with its defaults filled in; nothing of this is ever written back to the stored spec."""

    metadata: Meta
    spec: Any
    """The kind's own JobSpec, as stored."""
    policy: RunPolicy
    roles: dict[str, RoleSpec]
    """By canonical role name, in the kind's order; unknown roles are left out (validation tells them)."""
    status: JobStatus = JobStatus()
    ports: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    """Those in the network of their nodes, by role: one for each replica, or one for all of the role."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def suspended(self) -> bool:
        return bool(self.policy.suspend)

    def count(self, role: str) -> int:
        """How many pods a role has; a number below 0, which some kinds let pass, means none."""
        return min(max(self.roles[role].replicas, 0), MOST) if role in self.roles else 0

    def port(self, role: str, index: int) -> int | None:
        """What that replica has for itself in its node's network; None: it listens where its kind always does."""
        given = self.ports.get(role)
        return given[min(index, len(given) - 1)] if given else None

    @property
    def total(self) -> int:
        return sum(self.count(role) for role in self.roles)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
