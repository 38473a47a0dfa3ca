"""The roles and commands of a job that runs one command. `traincrew run --kind K -- COMMAND` adds the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

Command = tuple[str, ...]


class CommandRequest(NamedTuple):
    """The command to run, and how many replicas run it."""

    command: Command
    workers: int = 1
    """Replicas that train, including the leading one."""
    elastic: tuple[int, int] | None = None
    """Smallest and largest number of workers of an elastic job."""
    gpus: int = 0
    """GPUs of each worker."""
    idle: bool = False
    """The operator may choose the number of workers of an elastic job, up to the largest on idle capacity."""
    retries: int = 0
    """Number of restarts after failures. 0: the first failure ends the job."""


class RoleOutline(NamedTuple):
    role: str
    replicas: int
    command: Command = ()
    """Empty: the kind sets the command."""
    trains: bool = True
    """False: the role needs no devices and few resources."""


@dataclasses.dataclass(frozen=True)
class JobOutline:
    roles: tuple[RoleOutline, ...]
    spec: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Values of the kind's own spec fields."""
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Environment variables of every replica."""
    programs: tuple[str, ...] = ()
    """Programs that the commands start besides their first words."""


class NotElastic(ValueError):
    """The kind does not support a changing number of replicas, or the operator cannot choose that number."""


def workers_only(request: CommandRequest) -> JobOutline:
    if request.elastic is not None:
        raise NotElastic
    return JobOutline((RoleOutline("Worker", request.workers, request.command),))


def elastic_workers(request: CommandRequest, spec: Mapping[str, Any]) -> JobOutline:
    return JobOutline((RoleOutline("Worker", request.workers, request.command),), spec)


def with_leader(role: str, request: CommandRequest, spec: Mapping[str, Any] | None = None) -> JobOutline:
    """The first replica has the leading role, the others are workers."""
    if request.elastic is not None:
        raise NotElastic
    workers = (RoleOutline("Worker", request.workers - 1, request.command),) if request.workers > 1 else ()
    return JobOutline((RoleOutline(role, 1, request.command), *workers), spec or {})


def is_python(command: Command) -> bool:
    return command[0].rpartition("/")[2].startswith("python")
