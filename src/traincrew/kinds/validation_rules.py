"""Checks that several kinds share. Faults come in the words of the Go operators' webhooks.

Each fault with `server` set has a twin that the API server checks: a rule of `cel`, or the CRD's schema itself (a replica type
needs a template with a container, a container needs an image).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from traincrew.kinds.kind import Fault, JobKind, Rule
from traincrew.model import jobs, naming, suggestions

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_TEXT = (
    "should match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character, at most 63 characters long (e.g. 'my-name', or 'abc-123')"
)
MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def cel(kind: JobKind) -> tuple[Rule, ...]:
    """The rules that the API server checks on jobs of a kind: the kind's own, those of every kind, and the webhooks'."""
    return (*kind.rules, *_IMMUTABLE, *(_webhook_rules(kind) if kind.server_rules else ()))


_IMMUTABLE = (
    Rule(at="queue", cel="self == oldSelf", message="spec.runPolicy.schedulingPolicy.queue is immutable"),
    Rule(
        at="policy",
        cel="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",
        message="spec.runPolicy.managedBy: field is immutable",
    ),
)


def _webhook_rules(kind: JobKind) -> Iterator[Rule]:
    yield Rule(
        at="object",
        cel=f"size(self.metadata.name) <= 63 && self.metadata.name.matches('^{DNS_LABEL.pattern}$')",
        message=f"metadata.name {DNS_TEXT}",
    )
    yield Rule(
        at="policy",
        cel=f"!has(self.managedBy) || self.managedBy in [{_quoted(MANAGERS)}]",
        message=f"unsupported value of managedBy, must be one of {', '.join(MANAGERS)}",
    )
    if not kind.open_roles:
        yield Rule(
            at="replicas",
            cel=f"self.all(k, k.lowerAscii() in [{_quoted(role.label for role in kind.roles)}])",
            message=f"unsupported replica type, must be one of {', '.join(role.name for role in kind.roles)}",
        )
    if kind.container:
        yield Rule(
            at="template-spec",
            cel=f"self.containers.exists(c, c.name == '{kind.container}')",
            message=f"must have at least one container with name {kind.container}",
        )


def counted(role: str, condition: str, message: str) -> Rule:
    """A rule on how many replicas of a role there may be, where the user gives a number; its twin is `counts`."""
    cel = f"self.all(k, k.lowerAscii() != '{role.lower()}' || !has(self[k].replicas) || self[k].replicas {condition})"
    return Rule(at="replicas", cel=cel, message=f"{role} replicas {message}", counts=role)


def _quoted(words: tuple[str, ...] | Iterator[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def faults(kind: JobKind, job: jobs.Job) -> list[Fault]:
    """Everything wrong with a job."""
    found = _shared(kind, job) if kind.server_rules else []
    return [
        *found,
        *kind.validate(job),
        *_restart_policies(kind, job),
        *_repeated_roles(kind, job),
        *_too_many(kind, job),
        *_long_names(kind, job),
    ]


def _shared(kind: JobKind, job: jobs.Job) -> list[Fault]:
    specs = job.spec.replica_specs
    found = list(_name(job.name))
    if not specs:
        # An empty map passes in Go: such a job was created, and did nothing for ever.
        found.append(Fault(path=f"spec.{kind.replicas_field}", message="must be required", type="Required", server=specs is None))
    for key, spec in (specs or {}).items():
        found.extend(_replica_spec(kind, key, spec))
    return [*found, *_managed_by(job)]


def replica_path(kind: JobKind, key: str) -> str:
    return f"spec.{kind.replicas_field}[{key}]"


def entries(kind: JobKind, job: jobs.Job, role: str) -> Iterator[tuple[str, jobs.ReplicaSpec]]:
    """The entries of the replica map that stand for a role, however their keys are written."""
    for key, spec in (job.spec.replica_specs or {}).items():
        found = kind.role(key)
        if found is not None and found.name == role and spec is not None:
            yield key, spec


def counts(kind: JobKind, job: jobs.Job, role: str) -> Iterator[tuple[str, int]]:
    """The numbers of replicas that the user has given for a role, each with its path."""
    for key, spec in entries(kind, job, role):
        if spec.replicas is not None:
            yield f"{replica_path(kind, key)}.replicas", spec.replicas


def _name(name: str) -> Iterator[Fault]:
    if name and (len(name) > 63 or not DNS_LABEL.fullmatch(name)):
        yield Fault(path="metadata.name", message=f"{DNS_TEXT}, got {name!r}")


def _replica_spec(kind: JobKind, key: str, spec: jobs.ReplicaSpec | None) -> Iterator[Fault]:
    path = replica_path(kind, key)
    if kind.role(key) is None:
        known = [role.name for role in kind.roles]
        message = f"unsupported replica type {key!r}, must be one of {', '.join(known)}{suggestions.did_you_mean(key, known)}"
        yield Fault(path=path, message=message, type="NotSupported", server=not kind.open_roles)
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


def _restart_policies(kind: JobKind, job: jobs.Job) -> Iterator[Fault]:
    """A pod with any other policy would be refused for ever."""
    for role in kind.roles:
        for key, spec in entries(kind, job, role.name):
            if spec.restart_policy and spec.restart_policy not in kind.restart_policies:
                message = f"unsupported value {spec.restart_policy!r}, must be one of {', '.join(kind.restart_policies)}"
                path = f"{replica_path(kind, key)}.restartPolicy"
                yield Fault(path=path, message=message, type="NotSupported", server=False)


def _repeated_roles(kind: JobKind, job: jobs.Job) -> Iterator[Fault]:
    for role in job.roles:
        keys = [key for key, _ in entries(kind, job, role)]
        if len(keys) > 1:
            message = f"the replica type {role} is given more than once: {', '.join(keys)}"
            yield Fault(path=replica_path(kind, keys[-1]), message=message, server=False)


def _too_many(kind: JobKind, job: jobs.Job) -> Iterator[Fault]:
    for role in kind.roles:
        for at, count in counts(kind, job, role.name):
            if count > jobs.MOST:
                yield Fault(path=at, message=f"must be at most {jobs.MOST}, got {count}", server=False)


def _long_names(kind: JobKind, job: jobs.Job) -> Iterator[Fault]:
    """A Service's name is a DNS label: `<job>-<role>-<index>` must fit, not just the job's own name."""
    for role in job.roles if kind.services else ():
        last = naming.replica(job.name, role, max(job.count(role) - 1, 0))
        if len(last) > 63 and len(job.name) <= 63:
            message = f"too long: the name {last!r} made from it has {len(last)} characters, at most 63 are possible"
            yield Fault(path="metadata.name", message=message, server=False)
