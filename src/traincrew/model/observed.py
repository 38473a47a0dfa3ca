"""The world around one job, as far as a decision about it can depend on that world."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping

from traincrew import settings
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.resources import Resource


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A write that the API server refused; kept until the same write succeeds or is no longer wanted."""

    resource: Resource
    name: str
    reason: str
    """The Status reason, such as Forbidden, Invalid or AlreadyExists."""
    message: str
    foreign: bool = False
    """An object of that name exists and belongs to somebody else."""


@dataclasses.dataclass(frozen=True)
class PodEvent:
    """A warning that some component wrote about a pod."""

    reason: str
    message: str
    time: Time | None = None


@dataclasses.dataclass(frozen=True)
class Observed:
    pods: tuple[objects.Pod, ...] = ()
    services: tuple[objects.Plain, ...] = ()
    config_maps: tuple[objects.ConfigMap, ...] = ()
    roles: tuple[objects.Role, ...] = ()
    role_bindings: tuple[objects.Plain, ...] = ()
    service_accounts: tuple[objects.Plain, ...] = ()
    batch_jobs: tuple[objects.BatchJob, ...] = ()
    autoscalers: tuple[objects.Autoscaler, ...] = ()
    pod_groups: tuple[objects.PodGroup, ...] = ()
    vanished: tuple[objects.Pod, ...] = ()
    """Last state of pods that are gone though nobody here deleted them, until the book of restarts has them."""
    known: frozenset[tuple[str, str]] = frozenset()
    """(plural, name) of objects that are not watched but were seen to exist: secrets, users' service accounts."""
    refusals: tuple[Refusal, ...] = ()
    pod_events: Mapping[str, tuple[PodEvent, ...]] = dataclasses.field(default_factory=dict)
    """Warnings about a pod, by its UID; present (perhaps empty) once they have been listed."""
    ports_taken: Container[int] = frozenset()
    """Ports of nodes that other jobs have."""
    planning: settings.Planning = settings.Planning()
