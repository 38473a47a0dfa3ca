"""What placement is told, and what it decides."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.scheduling import pod_groups
from traincrew.scheduling.gangs import Groups
from traincrew.scheduling.objects import Claim
from traincrew.scheduling.pod_info import EVER, PodInfo
from traincrew.scheduling.volumes import Shelf

SCHEDULERS = frozenset(("default-scheduler", "volcano", "scheduler-plugins-scheduler"))


@dataclasses.dataclass(frozen=True)
class Policy:
    served: frozenset[str] = SCHEDULERS
    """Names of schedulers whose pods are placed."""
    overcommitted: frozenset[str] = frozenset()
    """Resources of which pods may ask for more than there is."""
    patience: dt.timedelta = dt.timedelta(seconds=30)
    """How long a gang waits before nobody behind it may have what it lacks."""
    preemptions: int = 32
    """How many are thought through at one stroke; it takes long with many pods about."""
    advises: bool = False
    """Whether refusals name the options of `traincrew up` that would help."""


def on_one_machine(overcommitted: Iterable[str] = ("cpu",)) -> Policy:
    """That of `traincrew up`: training is rarely held up by cores that are shared, but memory that is not there kills it."""
    return Policy(overcommitted=frozenset(overcommitted), advises=True)


@dataclasses.dataclass(frozen=True)
class Surroundings:
    groups: Groups = dataclasses.field(default_factory=dict)
    priorities: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The values of priority classes."""
    shelf: Shelf = Shelf()
    namespaces: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    now: dt.datetime = EVER


class Binding(NamedTuple):
    pod: PodInfo
    node: str


class Refusal(NamedTuple):
    pod: PodInfo
    message: str
    nominated: str | None = None
    """The node that is being cleared for it; empty: none is any longer; None: as before."""


class Preemption(NamedTuple):
    victim: PodInfo
    preemptor: PodInfo


class Selection(NamedTuple):
    """A claim that is bound once its first consumer's node is known."""

    claim: Claim
    node: str


@dataclasses.dataclass
class Placement:
    bindings: list[Binding] = dataclasses.field(default_factory=list)
    refusals: list[Refusal] = dataclasses.field(default_factory=list)
    preemptions: list[Preemption] = dataclasses.field(default_factory=list)
    selections: list[Selection] = dataclasses.field(default_factory=list)
    groups: list[pod_groups.Change] = dataclasses.field(default_factory=list)
    unfinished: bool = False
    """Not all preemptions were thought through: look again once these have been carried out."""
