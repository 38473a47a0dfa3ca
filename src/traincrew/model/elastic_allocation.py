"""The allocation of an elastic job: its workers, chosen for all elastic jobs together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew.model.meta import Time

# Why the number of workers changes.
GAVE_BACK = "GaveBack"
"""Workers are removed for pending pods."""
EVENED_OUT = "EvenedOut"
"""A worker is moved to a job with fewer workers."""
NOTICED = "Noticed"
"""Workers are removed before the termination of their node."""
GREW = "Grew"
"""Workers are added on idle capacity."""
RECLAIMED = "Reclaimed"
"""The pods of workers on idle capacity were preempted or deleted by others."""
RESIZED = "Resized"
"""The spec was changed."""
REFUSED = "Refused"
"""The scheduler finds no node for a worker on idle capacity."""


@dataclasses.dataclass(frozen=True)
class Removal:
    """Why a worker is removed."""

    reason: str
    claimant: str = ""
    """Whose pods get its resources, such as `TFJob research/mnist`."""
    message: str = ""
    """Completes the sentence that begins with the numbers of workers."""


@dataclasses.dataclass(frozen=True)
class Allocation:
    members: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The UID of the pod by the index of the worker. Empty: the worker has no pod yet, and gets one."""
    surplus: frozenset[int] = frozenset()
    """The members whose pods use idle capacity only."""
    node_hints: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The node on which the pod of a new member fits."""
    pinned: bool = False
    """Whether new members on idle capacity may run on those nodes only."""
    leaving: Mapping[int, Removal] = dataclasses.field(default_factory=dict)
    reclaimed_for: Removal | None = None
    """For whom others removed workers on idle capacity a short time ago: that is known after it was seen."""
    reclaimed_at: Time | None = None
    """When that was seen."""
    evicted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Pods on terminating nodes without which the job restarts, by UID with the reason: they are deleted and replaced."""
    workloads: frozenset[int] = frozenset()
    """The workers on idle capacity for which Kueue has admitted a Workload, or is asked to."""
    reason: str = ""
    """Why the job does not have more workers."""
    message: str = ""
    error: str = ""
    """Why the operator cannot choose the number of workers, with the remedy. The job is scaled by hand then."""
