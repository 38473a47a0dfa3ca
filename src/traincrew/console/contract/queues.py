"""Queues of Kueue and Volcano."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message
from traincrew.model.meta import Time

QueueSystem = Literal["kueue", "volcano"]


class QueueResource(Message, kw_only=True):
    resource: str
    """Such as `cpu` or `nvidia.com/gpu`."""
    flavor: str = ""
    """Kueue's resource flavor. Empty: Volcano has none."""
    quota: str
    """Empty: no limit."""
    used: str
    """By admitted jobs."""
    borrowed: str = ""
    """That part of `used` which belongs to other queues of the cohort."""
    wanted: str = ""
    """By the jobs that wait. Empty: unknown."""


class QueuedJob(Message, kw_only=True):
    namespace: str
    kind: str
    """The lowercase singular. Empty: it is not a job of the console."""
    name: str
    admitted: bool
    position: int | None = None
    """Among the jobs that wait, from 1. Null: admitted."""
    priority: int = 0
    reason: str = ""
    """Why it waits, such as `Pending` or `Inadmissible`."""
    message: str = ""
    since: Time | None = None


class Queue(Message, kw_only=True):
    system: QueueSystem
    name: str
    namespace: str = ""
    """Namespace of a LocalQueue. Empty: a queue of Volcano, which belongs to no namespace."""
    cluster_queue: str = ""
    """Kueue's ClusterQueue. Empty: Volcano."""
    cohort: str = ""
    strategy: str = ""
    """Such as `BestEffortFIFO`."""
    active: bool
    message: str = ""
    """Why it is not active."""
    pending: int
    admitted: int
    resources: list[QueueResource]
    """Empty: the user may not read the quota."""
    jobs: list[QueuedJob]
    """Admitted jobs first, then those that wait, in the order in which they will probably be admitted."""


class QueueList(Message, kw_only=True):
    queues: list[Queue]
    unavailable: str = ""
    """Why there are no queues, and what to do. Empty: there is a queue system."""
    notes: list[str] = []
    """What the user may not read."""
