"""Pod security admission: what a pod may do in a namespace that is labelled baseline or restricted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from traincrew.embedded import refusals
from traincrew.embedded.builtin import gosyntax, podsecurity_checks
from traincrew.embedded.refusals import Refusal, Subject
from traincrew.embedded.served import Object

LEVELS = ("privileged", "baseline", "restricted")
_PREFIX = "pod-security.kubernetes.io/"


@dataclasses.dataclass(frozen=True)
class Policy:
    """What a namespace's labels ask for, each as `level:version`; an unknown level is as strict as can be."""

    enforce: str = "privileged:latest"
    warn: str = "privileged:latest"
    audit: str = "privileged:latest"


def policy(labels: Mapping[str, str]) -> Policy:
    found = {}
    for mode in ("enforce", "warn", "audit"):
        level = labels.get(_PREFIX + mode)
        if level is not None:
            known = level if level in LEVELS else "restricted"
            found[mode] = f"{known}:{labels.get(f'{_PREFIX}{mode}-version') or 'latest'}"
    if "warn" not in found and "enforce" in found:
        found["warn"] = found["enforce"]
    return Policy(**found)


def violations(obj: Object, level: str) -> str:
    """What of it the level forbids, in one sentence; empty if nothing. `level` may have a version."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in _found(obj, level.partition(":")[0]))


Check = Callable[[Object], tuple[str, str] | None]


def _found(obj: Object, level: str) -> Iterator[tuple[str, str]]:
    if level == "privileged":
        return
    checks = podsecurity_checks.RESTRICTED if level == "restricted" else podsecurity_checks.BASELINE
    for check in checks:
        if found := check(obj):
            yield found


def refusal(pod: Object, labels: Mapping[str, str]) -> Refusal | None:
    """Of a new pod, or one whose images change, in a namespace with these labels."""
    enforced = policy(labels).enforce
    told = violations(pod, enforced)
    if not told:
        return None
    subject = Subject("pods", name=pod["metadata"].get("name") or "")
    return refusals.forbidden(subject, f"violates PodSecurity {gosyntax.quoted(enforced)}: {told}")


def warnings(obj: Object, labels: Mapping[str, str]) -> list[str]:
    """For a pod, or for a controller's template of pods, which is only warned about."""
    wanted = policy(labels).warn
    told = violations(obj, wanted)
    return [f"would violate PodSecurity {gosyntax.quoted(wanted)}: {told}"] if told else []
