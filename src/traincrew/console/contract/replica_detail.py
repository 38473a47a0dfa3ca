"""The page of a replica: its containers as the manifest of its pod has them."""

from __future__ import annotations

from traincrew.console.contract.job_detail import Event
from traincrew.console.contract.message import Message
from traincrew.console.contract.replicas import Replica


class EnvironmentVariable(Message, kw_only=True):
    name: str
    value: str
    """Empty if the value comes from another object."""
    source: str = ""
    """Such as `secret db, key password`. Values of secrets are never sent."""


class Mount(Message, kw_only=True):
    path: str
    volume: str
    kind: str
    """Such as `persistentVolumeClaim` or `emptyDir`."""
    read_only: bool


class ContainerSpec(Message, kw_only=True):
    name: str
    init: bool
    image: str
    command: list[str]
    args: list[str]
    working_dir: str
    env: list[EnvironmentVariable]
    mounts: list[Mount]


class ReplicaDetail(Message, kw_only=True):
    replica: Replica
    containers: list[ContainerSpec]
    events: list[Event]
    yaml: str


class ReplicaPage(Message, kw_only=True):
    """The answer to `GET JOB/replicas`."""

    replicas: list[Replica]
    """In the order of the roles of the kind, then by index."""
    offset: int
    total: int
    """Number of replicas that match the filters."""
    counts: dict[str, int]
    """By state: the replicas that match all filters but `state`."""
