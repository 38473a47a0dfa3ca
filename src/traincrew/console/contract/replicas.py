"""The replicas of a job, their containers and their phases over time."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message
from traincrew.model.meta import Time

ReplicaState = Literal["Missing", "Pending", "Starting", "Running", "Succeeded", "Failed", "Terminating", "Unknown"]
PhaseName = Literal["Pending", "Starting", "Running", "Succeeded", "Failed", "Lost"]


class Container(Message, kw_only=True):
    name: str
    init: bool
    image: str
    state: Literal["Waiting", "Running", "Terminated", "Unknown"]
    ready: bool
    restarts: int
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started: Time | None = None
    ended: Time | None = None


class Replica(Message, kw_only=True):
    name: str
    """Role and index in lower case, such as `worker-1` or `launcher`. URLs and logs use it."""
    role: str
    """Such as `Worker`."""
    index: int
    rank: int | None = None
    """The rank that the operator gives the replica. Null: the kind gives none, or it changes while the job runs."""
    state: ReplicaState
    why: str = ""
    """Why the replica does not run. Empty: it runs or succeeded."""
    pod: str = ""
    """Empty if the pod does not exist (state Missing)."""
    uid: str = ""
    node: str = ""
    ip: str = ""
    restarts: int = 0
    """Restarts of its containers in this pod."""
    exit_code: int | None = None
    created: Time | None = None
    started: Time | None = None
    ended: Time | None = None
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    containers: list[Container] = []


class Phase(Message, kw_only=True):
    name: PhaseName
    start: Time
    end: Time | None
    """Null: the phase lasts."""
    text: str = ""
    """Such as `exit code 1` or `waits for an image`."""


class ReplicaTimeline(Message, kw_only=True):
    replica: str
    phases: list[Phase]
    """In the order of time, without gaps. Those of earlier pods of the replica come first, as far as they are known."""
