"""How the number of workers of a running job may change, and the annotations by which a job lets the operator change it."""

from __future__ import annotations

import dataclasses
from typing import Literal

from traincrew.model import jobs, naming

ROLE = "Worker"
"""The role whose replicas come and go."""
MANUAL, YIELD, IDLE = "manual", "yield", "idle"
MODES = (MANUAL, YIELD, IDLE)
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
    least: int = 0
    most: int = 0
    cost: ResizeCost = ResizeCost(10.0, 5.0)
    anchor: Literal["", "first", "oldest"] = ""
    """The worker that must stay: worker 0, which hosts the rendezvous, or the one that runs longest. Empty: none."""
    metrics_field: str = ""
    """The field that gives the job a HorizontalPodAutoscaler, which chooses the number that is asked for. Empty: none."""
    refusal: str = ""
    """Why the number of workers is fixed, with the remedy. Empty: it is not fixed."""


def fixed(job: jobs.Job) -> Elasticity:
    return Elasticity(refusal="the number of workers of this kind is fixed while it runs: remove the annotation")


def mode(job: jobs.Job) -> str:
    """The mode that the annotation asks for. It may be an unknown word."""
    return job.metadata.annotations.get(naming.SCALING, MANUAL).strip()


def is_automatic(job: jobs.Job) -> bool:
    """Whether the operator may choose the number of workers."""
    return mode(job) in (YIELD, IDLE)


def checkpoint_seconds(job: jobs.Job) -> float:
    return _seconds(job, naming.CHECKPOINT_SECONDS, CHECKPOINT_SECONDS)


def start_seconds(job: jobs.Job) -> float:
    return _seconds(job, naming.START_SECONDS, START_SECONDS)


def bad_seconds(job: jobs.Job) -> str:
    """What is wrong with the annotations that are times, with the remedy. The default is used then."""
    for name in (naming.CHECKPOINT_SECONDS, naming.START_SECONDS):
        text = job.metadata.annotations.get(name)
        if text is not None and not _is_seconds(text):
            return f"annotation {name} is {text!r}: use a number of seconds up to {LONGEST_SECONDS:.0f}, such as 300"
    return ""


def _seconds(job: jobs.Job, name: str, default: float) -> float:
    text = job.metadata.annotations.get(name, "")
    return float(text) if _is_seconds(text) else default


def _is_seconds(text: str) -> bool:
    return text.strip().isdecimal() and float(text) <= LONGEST_SECONDS
