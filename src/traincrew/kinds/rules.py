"""Checks that several kinds share. Faults come in the words of the Go operators' webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traincrew.kinds.kind import Fault, JobKind
from traincrew.model import jobs, naming

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_TEXT = (
    "should match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character, at most 63 characters long (e.g. 'my-name', or 'abc-123')"
)
MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def faults(kind: JobKind, job: jobs.Job) -> list[Fault]:
    """Everything wrong with a job."""
    found = _shared(kind, job) if kind.server_rules else []
    return [*found, *kind.validate(job), *_long_names(job)]


def _shared(kind: JobKind, job: jobs.Job) -> list[Fault]:
    specs = job.spec.replica_specs
    found = list(_name(job.name))
    if not specs:
        found.append(Fault(path=f"spec.{kind.replicas_field}", message="must be required", type="Required"))
    for key, spec in (specs or {}).items():
        found.extend(_replica_spec(kind, key, spec))
    return [*found, *_managed_by(job)]


def replica_path(kind: JobKind, key: str) -> str:
    return f"spec.{kind.replicas_field}[{key}]"


def _name(name: str) -> Iterator[Fault]:
    if name and (len(name) > 63 or not DNS_LABEL.fullmatch(name)):
        yield Fault(path="metadata.name", message=f"{DNS_TEXT}, got {name!r}")


def _replica_spec(kind: JobKind, key: str, spec: jobs.ReplicaSpec | None) -> Iterator[Fault]:
    path = replica_path(kind, key)
    if kind.role(key) is None:
        known = ", ".join(role.name for role in kind.roles)
        yield Fault(path=path, message=f"unsupported replica type {key!r}, must be one of {known}", type="NotSupported",
                    server=not kind.open_roles)  # fmt: skip
    if spec is None:
        yield Fault(path=path, message="must be specified, got null", type="Required")
        return
    yield from containers(kind, path, spec)


def containers(kind: JobKind, path: str, spec: jobs.ReplicaSpec, server: bool = True) -> Iterator[Fault]:
    path = f"{path}.template.spec.containers"
    found = jobs.RoleSpec("", 0, "", spec.template).containers
    if not found:
        yield Fault(path=path, message="must be specified", type="Required", server=server)
        return
    for index, container in enumerate(found):
        if not container.get("image"):
            yield Fault(path=f"{path}[{index}].image", message="must be required", type="Required", server=server)
    if kind.container and not any(c.get("name") == kind.container for c in found):
        message = f"must have at least one container with name {kind.container}"
        yield Fault(path=path, message=message, type="Required", server=server)


def _managed_by(job: jobs.Job) -> Iterator[Fault]:
    manager = job.policy.managed_by
    if manager is not None and manager not in MANAGERS:
        message = f"unsupported value {manager!r}, must be one of {', '.join(MANAGERS)}"
        yield Fault(path="spec.runPolicy.managedBy", message=message, type="NotSupported")


def _long_names(job: jobs.Job) -> Iterator[Fault]:
    """A Service's name is a DNS label: `<job>-<role>-<index>` must fit, not just the job's own name."""
    for role in job.roles.values():
        last = naming.replica(job.name, role.name, max(role.replicas - 1, 0))
        if len(last) > 63 and len(job.name) <= 63:
            message = f"too long: the name {last!r} made from it has {len(last)} characters, at most 63 are possible"
            yield Fault(path="metadata.name", message=message, server=False)
