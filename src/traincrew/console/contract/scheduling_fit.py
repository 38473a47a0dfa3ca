"""Whether a job would be scheduled now, and what would have to be different."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message, Request

Verdict = Literal["fits", "preempts", "waits"]
"""preempts: it fits as soon as pods of a lower priority have left."""


class NodeReplicas(Message, kw_only=True):
    node: str
    replicas: list[str]
    """Such as `["worker-0", "worker-1"]`."""


class UnplacedReplicas(Message, kw_only=True):
    message: str
    """The words of the scheduler, such as `0/1 nodes are available: 1 Insufficient memory.`"""
    replicas: list[str]


class JobFit(Message, kw_only=True):
    namespace: str
    kind: str
    name: str
    line: int
    """Of the job in the manifest. 0: the job exists already."""
    verdict: Verdict
    total: int
    """Replicas of the job."""
    required: int
    """Replicas without which the job does not run: fewer than all if it is elastic."""
    placed: int
    """Replicas that have a place now."""
    nodes: list[NodeReplicas]
    unplaced: list[UnplacedReplicas]
    preempted: list[str] = []
    """`namespace/name` of pods that would have to leave."""


class Fits(Message, kw_only=True):
    """The answer to `POST fit`. Jobs that wait already come first, as in the scheduler."""

    jobs: list[JobFit]
    estimate: bool
    """The scheduler of the cluster is not ours: the answer comes from allocatable resources, requests, taints and affinity."""
    notes: list[str] = []
    """What could not be read, and why."""


class WhatIf(Request, kw_only=True):
    """The body of `POST JOB:simulate`: what is different. Nothing is changed."""

    workers: int | None = None
    priority: str | None = None
    """Name of a priority class. Empty: none."""
    without: list[str] = []
    """`namespace/kind/name` of jobs that would have ended."""


class PriorityClass(Message, kw_only=True):
    name: str
    value: int


class Holder(Message, kw_only=True):
    """A job with pods on nodes."""

    namespace: str
    kind: str
    name: str
    pods: int
    requests: dict[str, str]


class WorkerRange(Message, kw_only=True):
    wanted: int
    startable: int | None = None
    """The most workers with which the job would start now. Null: it would start with none."""


class Simulation(Message, kw_only=True):
    """The answer to `POST JOB:simulate`."""

    fit: JobFit
    estimate: bool
    workers: WorkerRange | None = None
    """Null: the job has no workers."""
    priority: str
    """Name of the priority class that the job has. Empty: none."""
    priority_classes: list[PriorityClass]
    holders: list[Holder]
    """Other jobs that hold resources, those with most pods first."""
    notes: list[str] = []
