"""Validation rules of all kinds, with the messages of the Go operators' webhooks.

For each violation with `server` set the API server has an equivalent check: a CEL rule, or the schema of the CRD itself (a
replica type needs a template with a container, a container needs an image).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from traincrew.kinds.kind import JobKind, Rule, Violation
from traincrew.model import jobs, naming, suggestions

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_TEXT = (
    "should match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character, at most 63 characters long (e.g. 'my-name', or 'abc-123')"
)
MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def cel_rules(kind: JobKind) -> tuple[Rule, ...]:
    """The CEL rules of a kind's CRD: its own, the immutable fields of every kind, and those of the Go operators' webhooks."""
    return (*kind.validation.rules, *_IMMUTABLE, *(_webhook_rules(kind) if kind.validation.server_rules else ()))


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
    if not kind.validation.open_roles:
        yield Rule(
            at="replicas",
            cel=f"self.all(k, k.lowerAscii() in [{_quoted(role.label for role in kind.roles)}])",
            message=f"unsupported replica type, must be one of {', '.join(role.name for role in kind.roles)}",
        )
    if kind.pods.container:
        yield Rule(
            at="template-spec",
            cel=f"self.containers.exists(c, c.name == '{kind.pods.container}')",
            message=f"must have at least one container with name {kind.pods.container}",
        )


def exactly_one(role: str) -> Rule:
    return _count_rule(role, "== 1", "must be 1", lambda count: count == 1)


def at_least_one(role: str) -> Rule:
    return _count_rule(role, ">= 1", "must be at least 1", lambda count: count >= 1)


def _count_rule(role: str, condition: str, message: str, allowed: Callable[[int], bool]) -> Rule:
    """A rule on the number of replicas of a role, for jobs that give a number."""
    cel = f"self.all(k, k.lowerAscii() != '{role.lower()}' || !has(self[k].replicas) || self[k].replicas {condition})"

    def check(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
        for path, count in counts(kind, job, role):
            if not allowed(count):
                yield Violation(path=path, message=f"{message}, got {count}", type="Forbidden")

    return Rule(at="replicas", cel=cel, message=f"{role} replicas {message}", check=check, counts=role)


def required_role(role: str) -> Rule:
    def check(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
        if role not in job.roles:
            yield Violation(path=replica_path(kind, role), message="must be present", type="Required")

    cel = f"self.exists(k, k.lowerAscii() == '{role.lower()}')"
    return Rule(at="replicas", cel=cel, message=f"{role} must be present", check=check)


def _quoted(names: tuple[str, ...] | Iterator[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def violations(kind: JobKind, job: jobs.Job) -> list[Violation]:
    """All violations in a job."""
    return [
        *(_shared(kind, job) if kind.validation.server_rules else ()),
        *(violation for rule in kind.validation.rules for violation in rule.check(kind, job)),
        *kind.validation.check(job),
        *_restart_policies(kind, job),
        *_repeated_roles(kind, job),
        *_too_many_replicas(kind, job),
        *_long_names(kind, job),
    ]


def _shared(kind: JobKind, job: jobs.Job) -> list[Violation]:
    specs = job.spec.replica_specs
    violations = list(_name(job.name))
    if not specs:
        # Go accepts an empty map: such a job is created and never runs.
        violations.append(
            Violation(path=f"spec.{kind.replicas_field}", message="must be required", type="Required", server=specs is None)
        )
    for key, spec in (specs or {}).items():
        violations.extend(_replica_spec(kind, key, spec))
    return [*violations, *_managed_by(job)]


def replica_path(kind: JobKind, key: str) -> str:
    return f"spec.{kind.replicas_field}[{key}]"


def entries(kind: JobKind, job: jobs.Job, role: str) -> Iterator[tuple[str, jobs.ReplicaSpec]]:
    """The entries of the replica map for a role, in any case of letters."""
    for key, spec in (job.spec.replica_specs or {}).items():
        entry_role = kind.role(key)
        if entry_role is not None and entry_role.name == role and spec is not None:
            yield key, spec


def counts(kind: JobKind, job: jobs.Job, role: str) -> Iterator[tuple[str, int]]:
    """The explicit numbers of replicas of a role, each with its path."""
    for key, spec in entries(kind, job, role):
        if spec.replicas is not None:
            yield f"{replica_path(kind, key)}.replicas", spec.replicas


def _name(name: str) -> Iterator[Violation]:
    if name and (len(name) > 63 or not DNS_LABEL.fullmatch(name)):
        yield Violation(path="metadata.name", message=f"{DNS_TEXT}, got {name!r}")


def _replica_spec(kind: JobKind, key: str, spec: jobs.ReplicaSpec | None) -> Iterator[Violation]:
    path = replica_path(kind, key)
    if kind.role(key) is None:
        known = [role.name for role in kind.roles]
        message = f"unsupported replica type {key!r}, must be one of {', '.join(known)}{suggestions.did_you_mean(key, known)}"
        yield Violation(path=path, message=message, type="NotSupported", server=not kind.validation.open_roles)
    if spec is None:
        yield Violation(path=path, message="must be specified, got null", type="Required")
        return
    yield from containers(kind, path, spec)


def containers(kind: JobKind, path: str, spec: jobs.ReplicaSpec, server: bool = True) -> Iterator[Violation]:
    path = f"{path}.template.spec.containers"
    all_containers = jobs.RoleSpec("", 0, "", spec.template).containers
    if not all_containers:
        yield Violation(path=path, message="must be specified", type="Required", server=server)
        return
    for index, container in enumerate(all_containers):
        if not container.get("image"):
            yield Violation(path=f"{path}[{index}].image", message="must be required", type="Required", server=server)
    if kind.pods.container and not any(c.get("name") == kind.pods.container for c in all_containers):
        message = f"must have at least one container with name {kind.pods.container}"
        yield Violation(path=path, message=message, type="Required", server=server)


def _managed_by(job: jobs.Job) -> Iterator[Violation]:
    manager = job.policy.managed_by
    if manager is not None and manager not in MANAGERS:
        message = f"unsupported value {manager!r}, must be one of {', '.join(MANAGERS)}"
        yield Violation(path="spec.runPolicy.managedBy", message=message, type="NotSupported")


def _restart_policies(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    """The API server rejects pods with any other policy."""
    supported = kind.validation.restart_policies
    for role in kind.roles:
        for key, spec in entries(kind, job, role.name):
            if spec.restart_policy and spec.restart_policy not in supported:
                message = f"unsupported value {spec.restart_policy!r}, must be one of {', '.join(supported)}"
                path = f"{replica_path(kind, key)}.restartPolicy"
                yield Violation(path=path, message=message, type="NotSupported", server=False)


def _repeated_roles(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    for role in job.roles:
        keys = [key for key, _ in entries(kind, job, role)]
        if len(keys) > 1:
            message = f"the replica type {role} is given more than once: {', '.join(keys)}"
            yield Violation(path=replica_path(kind, keys[-1]), message=message, server=False)


def _too_many_replicas(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    for role in kind.roles:
        for path, count in counts(kind, job, role.name):
            if count > jobs.MAX_REPLICAS:
                yield Violation(path=path, message=f"must be at most {jobs.MAX_REPLICAS}, got {count}", server=False)


def _long_names(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    """The name of a Service is a DNS label: `<job>-<role>-<index>` must fit, not only the name of the job."""
    for role in job.roles if kind.pods.services else ():
        last = naming.replica(job.name, role, max(job.count(role) - 1, 0))
        if len(last) > 63 and len(job.name) <= 63:
            message = f"too long: the name {last!r} of a replica has {len(last)} characters, the maximum is 63"
            yield Violation(path="metadata.name", message=message, server=False)
