"""How a job is scaled: by hand, or by the operator within the bounds of the job. Bad annotations are reported, not guessed."""

from __future__ import annotations

import dataclasses

from traincrew import settings
from traincrew.kinds import elasticity, violations
from traincrew.kinds.elasticity import Elasticity
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming


@dataclasses.dataclass(frozen=True)
class Scaling:
    """The request of a job that the operator chooses its number of workers."""

    mode: str
    wanted: int
    elasticity: Elasticity
    sizes: frozenset[int] = frozenset()
    """The allowed numbers of workers. Empty: all."""
    weight: float = 1.0
    error: str = ""
    """Why the job is scaled by hand all the same, with the remedy."""


def of(kind: JobKind, job: jobs.Job) -> Scaling | None:
    """None: the job is scaled by hand, as it asks for."""
    mode = elasticity.mode(job)
    if mode == elasticity.MANUAL:
        return None
    wanted, bounds = job.requested(elasticity.ROLE), kind.lifecycle.elastic(job)
    if error := _bad_mode(mode) or bounds.error or _bad_bounds(kind, bounds, wanted):
        return Scaling(mode, wanted, bounds, error=error)
    sizes, error = _sizes(job, bounds, wanted)
    weight, bad_weight = _weight(job)
    error = error or bad_weight or elasticity.bad_seconds(job) or elasticity.bad_notices(job)
    return Scaling(mode, wanted, bounds, sizes, weight, error)


def required_replicas(kind: JobKind, job: jobs.Job) -> int:
    """The number of pods without which the job does not run."""
    if elasticity.ROLE not in job.members:
        return job.total
    return job.total - job.count(elasticity.ROLE) + kind.lifecycle.elastic(job).min_replicas


def _bad_mode(mode: str) -> str:
    if mode in settings.SCALING_MODES:
        return ""
    *others, last = settings.SCALING_MODES
    return f"annotation {naming.SCALING} is {mode!r}: use {', '.join(others)} or {last}"


def _bad_bounds(kind: JobKind, bounds: Elasticity, wanted: int) -> str:
    if bounds.min_replicas > bounds.max_replicas:
        smallest, largest = bounds.min_replicas, bounds.max_replicas
        return f"the smallest number of workers, {smallest}, is more than the largest, {largest}: change one of the two"
    if not bounds.min_replicas <= wanted <= bounds.max_replicas:
        field = f"{violations.replica_path(kind, elasticity.ROLE)}.replicas"
        return f"{field} is {wanted}, not between {bounds.min_replicas} and {bounds.max_replicas}: change it or the bounds"
    return ""


def _sizes(job: jobs.Job, bounds: Elasticity, wanted: int) -> tuple[frozenset[int], str]:
    text = job.metadata.annotations.get(naming.SIZES)
    if text is None:
        return frozenset(), ""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        return frozenset(), f"annotation {naming.SIZES} is {text!r}: use numbers of workers, such as 1,2,4"
    sizes = frozenset(map(int, parts))
    if outside := sorted(size for size in sizes if not bounds.min_replicas <= size <= bounds.max_replicas):
        outer = f"{outside[0]}, not between {bounds.min_replicas} and {bounds.max_replicas}"
        return frozenset(), f"annotation {naming.SIZES} has {outer}: remove it or change the bounds"
    for name, size in (("the smallest number of workers", bounds.min_replicas), ("the number that the job asks for", wanted)):
        if size not in sizes:
            return frozenset(), f"annotation {naming.SIZES} is {text!r} without {size}, {name}: add it"
    return sizes, ""


def _weight(job: jobs.Job) -> tuple[float, str]:
    text = job.metadata.annotations.get(naming.WEIGHT)
    if text is None:
        return 1.0, ""
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0.01 <= weight <= 100:
        return 1.0, f"annotation {naming.WEIGHT} is {text!r}: use a number between 0.01 and 100"
    return weight, ""
