"""Roles and replicas of a job, and the facts about them from which kinds build environment variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from traincrew import settings
from traincrew.model import jobs, naming, objects

Manifest = dict[str, Any]
Env = Mapping[str, object]
"""Environment variables by name. A value that is a map is the `valueFrom` of the variable. None: the variable is not set."""
PodsByRole = Mapping[str, Sequence[objects.Pod]]
"""The pods of a job by role name, each list in the order of the replica index."""


@dataclasses.dataclass(frozen=True)
class Role:
    """A replica type of a kind, such as Master or Worker."""

    name: str
    replicas: int = 1
    """Number of replicas if the job gives none."""
    restart_policy: str = "Never"
    """Restart policy if the job gives none."""
    indexed: bool = True
    """False: the role has one pod, named `<job>-<role>` without an index."""
    delegated: bool = False
    """The operator creates a batch Job, whose controller creates the pod of the role."""
    shared_port: bool = False
    """The environment variables of the kind hold one port for the whole role: only one replica per node can listen."""
    prints: bool = True
    """False: its replicas usually print nothing, because they serve others. Their silence is no sign of a hang."""
    computes: bool = True
    """False: its replicas usually use no CPU, because they wait for others."""

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclasses.dataclass(frozen=True)
class Replica:
    """The n-th member of a role, for which a pod is built."""

    job: jobs.Job
    role: Role
    index: int
    planning: settings.Planning

    @property
    def name(self) -> str:
        if self.role.indexed:
            return naming.replica(self.job.name, self.role.name, self.index)
        return f"{self.job.name}-{self.role.label}"


def all_succeeded(job: jobs.Job, pods: PodsByRole, role: str) -> bool:
    succeeded = sum(pod.status.phase == "Succeeded" for pod in pods.get(role, ()))
    return succeeded >= job.count(role) > 0


def port_number(job: jobs.Job, role: str, container: str, port: tuple[str, int]) -> int:
    """The port of a role's first replica: its host port, else the container port of this name, else the default."""
    if (given := job.port(role, 0)) is not None:
        return given
    if role in job.roles:
        for candidate in job.roles[role].containers:
            if candidate.get("name") == container:
                for entry in candidate.get("ports") or []:
                    if entry.get("name") == port[0]:
                        return int(entry["containerPort"])
    return port[1]


def env_vars(variables: Env) -> list[Manifest]:
    return [_env_var(name, value) for name, value in variables.items() if value is not None]


def _env_var(name: str, value: object) -> Manifest:
    return {"name": name, "valueFrom": value} if isinstance(value, Mapping) else {"name": name, "value": str(value)}
