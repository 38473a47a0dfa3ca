"""Violations in a job of any kind, with the messages of the Go operators' webhooks.

For each violation with `server` set the API server has an equivalent check: a CEL rule, or the schema of the CRD itself (a
replica type needs a template with a container, a container needs an image).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from traincrew.apimachinery import suggestions
from traincrew.kinds.kind import JobKind
from traincrew.kinds.rule import Violation
from traincrew.model import jobs, naming

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_TEXT = (
    "should match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character, at most 63 characters long (e.g. 'my-name', or 'abc-123')"
)
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def of_job(kind: JobKind, job: jobs.Job) -> list[Violation]:
    """All violations in a job."""
    shared = (job_name, replica_specs, managed_by) if kind.validation.server_rules else ()
    checks = (*shared, *(rule.check for rule in kind.validation.rules), *kind.validation.checks, *_OF_EVERY_KIND)
    found = [violation for check in checks for violation in check(kind, job)]
    return found if kind.validation.server_rules else [msgspec.structs.replace(entry, server=False) for entry in found]


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


def job_name(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    if job.name and (len(job.name) > 63 or not DNS_LABEL.fullmatch(job.name)):
        yield Violation(path="metadata.name", message=f"{DNS_TEXT}, got {job.name!r}")


def replica_specs(kind: JobKind, job: jobs.Job, *, images: bool = True) -> Iterator[Violation]:
    """The replica map: known types, each with containers and, if `images` is set, with their images."""
    specs = job.spec.replica_specs
    if not specs:
        # Go accepts an empty map: such a job is created and never runs.
        path = f"spec.{kind.replicas_field}"
        yield Violation(path=path, message="must be required", server=specs is None)
    for key, spec in (specs or {}).items():
        path = replica_path(kind, key)
        if kind.role(key) is None:
            known = [role.name for role in kind.roles]
            message = f"unsupported replica type {key!r}, must be one of {', '.join(known)}{suggestions.did_you_mean(key, known)}"
            yield Violation(path=path, message=message, server=not kind.validation.open_roles)
        if spec is None:
            yield Violation(path=path, message="must be specified, got null")
        else:
            yield from _containers(kind, f"{path}.template.spec.containers", spec, images)


def _containers(kind: JobKind, path: str, spec: jobs.ReplicaSpec, images: bool) -> Iterator[Violation]:
    name = kind.pods.container
    if not spec.containers:
        yield Violation(path=path, message="must be specified")
        return
    for index, container in enumerate(spec.containers):
        if images and not container.get("image"):
            yield Violation(path=f"{path}[{index}].image", message="must be required")
    if name and not any(container.get("name") == name for container in spec.containers):
        yield Violation(path=path, message=f"must have at least one container with name {name}")


def managed_by(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    manager = job.policy.managed_by
    if manager is not None and manager not in managers(kind):
        message = unsupported(manager, managers(kind))
        yield Violation(path="spec.runPolicy.managedBy", message=message)


def managers(kind: JobKind) -> tuple[str, ...]:
    return (*kind.managers, MULTIKUEUE)


def unsupported(value: str, supported: Iterable[str]) -> str:
    return f"unsupported value {value!r}, must be one of {', '.join(supported)}"


def _restart_policies(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    """The API server rejects pods with any other policy."""
    supported = kind.validation.restart_policies
    for role in kind.roles:
        for key, spec in entries(kind, job, role.name):
            if spec.restart_policy and spec.restart_policy not in supported:
                path = f"{replica_path(kind, key)}.restartPolicy"
                message = unsupported(spec.restart_policy, supported)
                yield Violation(path=path, message=message, server=False)


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


def _service_names(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    return replica_names(kind, job) if kind.pods.services else iter(())


def replica_names(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    """The host name of a replica is a DNS label: `<job>-<role>-<index>` must fit, not only the name of the job."""
    for role in (role.name for role in kind.roles if role.indexed and role.name in job.roles):
        last = naming.replica(job.name, role, max(job.indexes(role), default=0))
        if len(last) > 63 and len(job.name) <= 63:
            message = f"too long: the name {last!r} of a replica has {len(last)} characters, the maximum is 63"
            yield Violation(path="metadata.name", message=message, server=False)


_OF_EVERY_KIND = (_restart_policies, _repeated_roles, _too_many_replicas, _service_names)
