"""What each replica of a job will be given, before the job is created."""

from __future__ import annotations

from traincrew.console.contract.message import Message
from traincrew.console.contract.replica_detail import EnvironmentVariable


class ReplicaPassport(Message, kw_only=True):
    replica: str
    """Such as `worker-1`."""
    role: str
    index: int
    env: list[EnvironmentVariable]
    """The variables that the operator adds; those of the manifest come in addition."""


class JobPassport(Message, kw_only=True):
    kind: str
    name: str
    line: int
    """Of the job in the manifest."""
    replicas: list[ReplicaPassport]
    """At most 256."""
    total: int


class Passports(Message, kw_only=True):
    """The answer to `POST passport`."""

    jobs: list[JobPassport]
