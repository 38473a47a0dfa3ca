"""How the number of workers of a running job may change, and the annotations by which a job lets the operator change it."""

from __future__ import annotations

import dataclasses
from typing import Literal

from traincrew import settings
from traincrew.model import jobs, naming
from traincrew.model.meta import Named

ROLE = "Worker"
"""The role whose number of replicas may change."""
MANUAL, YIELD, IDLE = settings.SCALING_MODES
CHECKPOINT_SECONDS = 300.0
"""Time between two checkpoints of a program that restarts at every change, if the job does not say it."""
START_SECONDS = 60.0
"""Time in which the processes of a program connect to each other, if the job does not say it."""
LONGEST_SECONDS = 86400.0


@dataclasses.dataclass(frozen=True)
class ResizeCost:
    """Seconds that a change costs every worker of the job."""

    up: float
    down: float
    redo: float = 0.0
    """Work since the last checkpoint that is done again."""


@dataclasses.dataclass(frozen=True)
class Elasticity:
    min_replicas: int = 0
    max_replicas: int = 0
    cost: ResizeCost = ResizeCost(10.0, 5.0)
    protected_worker: Literal["", "first", "oldest"] = ""
    """The worker that is not removed: worker 0, which hosts the rendezvous, or the one that runs longest. Empty: none."""
    metrics_field: str = ""
    """The field that gives the job a HorizontalPodAutoscaler, which chooses the number that is asked for. Empty: none."""
    set_at_start: str = ""
    """What the automatic modes give to pods when they start, as a sentence. Pods that run already do not have it."""
    error: str = ""
    """Why the number of workers is fixed, with the remedy. Empty: it is not fixed."""


def fixed(job: jobs.Job) -> Elasticity:
    return Elasticity(error="the number of workers of this kind is fixed while it runs: remove the annotation")


def mode(job: Named) -> str:
    """The mode that the annotation asks for. It may be an unknown word."""
    return job.metadata.annotations.get(naming.SCALING, MANUAL).strip()


def is_automatic(job: jobs.Job) -> bool:
    """Whether the operator may choose the number of workers."""
    return mode(job) in (YIELD, IDLE)


def checkpoint_seconds(job: jobs.Job) -> float:
    return _seconds(job, naming.CHECKPOINT_SECONDS, CHECKPOINT_SECONDS)


def start_seconds(job: jobs.Job) -> float:
    return _seconds(job, naming.START_SECONDS, START_SECONDS)


def notice_seconds(job: jobs.Job) -> float:
    return _seconds(job, naming.NOTICE_SECONDS, 0.0)


def wants_notices(job: jobs.Job) -> bool:
    return job.metadata.annotations.get(naming.NOTICES, "").strip() == "true"


def bad_notices(job: jobs.Job) -> str:
    text = job.metadata.annotations.get(naming.NOTICES, "false")
    return "" if text.strip() in ("true", "false") else f"annotation {naming.NOTICES} is {text!r}: use true or false"


def bad_seconds(job: jobs.Job) -> str:
    """What is wrong with the annotations that are times, with the remedy. The default is used then."""
    for name in (naming.CHECKPOINT_SECONDS, naming.START_SECONDS, naming.NOTICE_SECONDS):
        text = job.metadata.annotations.get(name)
        if text is not None and not _is_seconds(text):
            return f"annotation {name} is {text!r}: use a number of seconds up to {LONGEST_SECONDS:.0f}, such as 300"
    return ""


def _seconds(job: jobs.Job, name: str, default: float) -> float:
    text = job.metadata.annotations.get(name, "")
    return float(text) if _is_seconds(text) else default


def _is_seconds(text: str) -> bool:
    return text.strip().isdecimal() and float(text) <= LONGEST_SECONDS
