"""Host ports of a job whose replicas use the network of their nodes: allocated at its start, released at its end."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.observed import Observed
from traincrew.model.status import JobStatus
from traincrew.planner.replicas import Replicas

Ports = Mapping[str, Sequence[int]]


def allocate(replicas: Replicas) -> Replicas:
    """The replicas with all ports that they need; without new ports if there are not enough for all."""
    ports = _allocated(replicas)
    if ports == replicas.job.ports:
        return replicas
    return dataclasses.replace(replicas, job=dataclasses.replace(replicas.job, ports=ports))


def _allocated(replicas: Replicas) -> Ports:
    given: dict[str, Sequence[int]] = dict(replicas.job.status.host_ports)
    lacking = _lacking(replicas, given)
    picked = list(islice(_free(replicas.job, replicas.observed), sum(lacking.values())))
    if len(picked) < sum(lacking.values()):
        return given
    left = iter(picked)
    return {**given, **{role: [*given.get(role, ()), *islice(left, count)] for role, count in lacking.items()}}


def missing_ports(replicas: Replicas) -> int:
    """Number of ports that could not be allocated."""
    return sum(_lacking(replicas, replicas.job.ports).values())


def _lacking(replicas: Replicas, given: Ports) -> dict[str, int]:
    needed = {role: _count(replicas.kind, replicas.job, role) for role in replicas.job.roles if _has_ports(replicas, role)}
    return {role: count - len(given.get(role, ())) for role, count in needed.items() if count > len(given.get(role, ()))}


def _count(kind: JobKind, job: jobs.Job, role: str) -> int:
    shared = any(each.name == role and each.shared_port for each in kind.roles)
    needed = max(job.indexes(role), default=-1) + 1  # the ports are a list by index
    return min(needed, 1) if shared else needed


def _has_ports(replicas: Replicas, role: str) -> bool:
    """Whether a role has host ports. Existing pods keep their ports, so either all roles of a job have ports or none."""
    job, planning = replicas.job, replicas.observed.planning
    if replicas.kind.pods.port is None:
        return False
    if job.status.host_ports:
        return role in job.status.host_ports or _on_host(replicas, role)
    if planning.host_ports is None or replicas.own_pods:
        return False
    return _on_host(replicas, role)


def _on_host(replicas: Replicas, role: str) -> bool:
    spec = replicas.job.roles[role].parsed.get("spec") or {}
    return replicas.observed.planning.host_ports_for_all or bool(spec.get("hostNetwork"))


def _free(job: jobs.Job, observed: Observed) -> Iterator[int]:
    """Free ports, starting at a number that depends on the job: the next job does not get the ports that were released last."""
    if observed.planning.host_ports is None:
        return
    low, high = observed.planning.host_ports
    own = {port for ports in job.status.host_ports.values() for port in ports}
    size = high - low + 1
    start = zlib.crc32(job.metadata.uid.encode()) % size
    for step in range(size):
        port = low + (start + step) % size
        if port not in own and port not in observed.used_ports:
            yield port


def record_allocation(replicas: Replicas, status: JobStatus) -> JobStatus:
    """The status with the allocated ports; without ports once the job is finished and none of its pods runs."""
    over = status.finished and all(pod.finished for pod in replicas.own_pods)
    ports = {} if over else {role: list(numbers) for role, numbers in replicas.job.ports.items()}
    return status if ports == status.host_ports else msgspec.structs.replace(status, host_ports=ports)


def shortage(replicas: Replicas) -> str:
    """Why pods cannot be created for lack of ports. Empty: every port is allocated."""
    if not missing_ports(replicas):
        return ""
    count, given = missing_ports(replicas), replicas.observed.planning.host_ports
    needed = "1 more host port" if count == 1 else f"{count} more host ports"
    if given is None:
        return f"the job needs {needed}, but the operator has no port range: start the operator with --host-ports"
    return f"the job needs {needed}, but other jobs use too many of {given[0]}-{given[1]}: wait, or widen --host-ports"
