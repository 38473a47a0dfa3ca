"""Validation rules in CEL and Python, with the messages of the Go operators' webhooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from traincrew.kinds.kind import JobKind
from traincrew.kinds.rule import Rule, Violation
from traincrew.kinds.violations import DNS_LABEL, DNS_TEXT, counts, managers, replica_path
from traincrew.model import jobs


def cel_rules(kind: JobKind) -> tuple[Rule, ...]:
    """The CEL rules of a kind's CRD: its own, the immutable fields of every kind, and those of the Go operators' webhooks."""
    if not kind.validation.server_rules:
        return _IMMUTABLE
    return (*kind.validation.rules, *_IMMUTABLE, *_webhook_rules(kind))


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
        cel=f"!has(self.managedBy) || self.managedBy in [{_quoted(managers(kind))}]",
        message=f"unsupported value of managedBy, must be one of {', '.join(managers(kind))}",
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


def at_least(minimum: int, role: str) -> Rule:
    return _count_rule(role, f">= {minimum}", f"must be at least {minimum}", lambda count: count >= minimum)


def _count_rule(role: str, condition: str, message: str, allowed: Callable[[int], bool]) -> Rule:
    """A rule on the number of replicas of a role, for jobs that give a number."""
    cel = f"self.all(k, k.lowerAscii() != '{role.lower()}' || !has(self[k].replicas) || self[k].replicas {condition})"

    def check(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
        for path, count in counts(kind, job, role):
            if not allowed(count):
                yield Violation(path=path, message=f"{message}, got {count}")

    return Rule(at="replicas", cel=cel, message=f"{role} replicas {message}", check=check, counts=role)


def required_role(role: str) -> Rule:
    def check(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
        if role not in job.roles:
            yield Violation(path=replica_path(kind, role), message="must be present")

    cel = f"self.exists(k, k.lowerAscii() == '{role.lower()}')"
    return Rule(at="replicas", cel=cel, message=f"{role} must be present", check=check)


def spec_rule(field: str, message: str, *, cel: str, violated: Callable[[jobs.Job], bool]) -> Rule:
    """A rule about a field of the spec that depends on other fields."""

    def check(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
        if violated(job):
            yield Violation(path=f"spec.{field}", message=message)

    return Rule(at="spec", cel=cel, message=f"{field} {message}", check=check)


def _quoted(names: tuple[str, ...] | Iterator[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
