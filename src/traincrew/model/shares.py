"""The part of the cluster that an elastic job gets: its workers, chosen for all elastic jobs together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

GAVE_BACK, EVENED_OUT, NOTICED, GREW, RECLAIMED, RESIZED = "GaveBack", "EvenedOut", "Noticed", "Grew", "Reclaimed", "Resized"
"""Why the number of workers changes: for a claimant, for a job with fewer workers, before a node ends, into idle capacity, by
the scheduler, by a change of the spec."""


@dataclasses.dataclass(frozen=True)
class Leave:
    """Why a worker leaves."""

    reason: str
    claimant: str = ""
    """Who gets its place, such as `TFJob research/mnist`."""
    message: str = ""
    """Completes the sentence that begins with the numbers of workers."""


@dataclasses.dataclass(frozen=True)
class Share:
    members: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The UID of the pod by the index of the worker. Empty: the worker has no pod yet, and gets one."""
    surplus: frozenset[int] = frozenset()
    """The members whose pods use idle capacity only."""
    hints: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The node on which the pod of a new member fits."""
    leaving: Mapping[int, Leave] = dataclasses.field(default_factory=dict)
    evicted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Pods that cannot leave while the job runs, and whose nodes end, by UID with the reason: they are deleted and replaced."""
    reason: str = ""
    """Why the job does not have more workers."""
    message: str = ""
    refusal: str = ""
    """Why the operator cannot choose the number of workers, with the remedy. The job is scaled by hand then."""
