"""Pod security admission: what a pod may do in a namespace that is labelled baseline or restricted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.api_errors import StatusDetails, StatusError
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission.pod_security import checks as pod_security_checks

LEVELS = ("privileged", "baseline", "restricted")
PREFIX = "pod-security.kubernetes.io/"


@dataclasses.dataclass(frozen=True)
class Policy:
    """What a namespace's labels ask for, each as `level:version`."""

    enforce: str = "privileged:latest"
    warn: str = "privileged:latest"
    audit: str = "privileged:latest"


UNASKED = Policy()


def policy(labels: Mapping[str, str]) -> Policy:
    """A level that is not known is enforced as the strictest, but neither warned about nor audited."""
    if not any(label.startswith(PREFIX) for label in labels):
        return UNASKED
    enforced = labels.get(f"{PREFIX}enforce", "privileged")
    found = {"enforce": _leveled(labels, "enforce", enforced if enforced in LEVELS else "restricted")}
    for mode in ("warn", "audit"):
        level = labels.get(PREFIX + mode, "privileged")
        found[mode] = _leveled(labels, mode, level if level in LEVELS else "privileged")
    if f"{PREFIX}warn" not in labels and enforced in LEVELS[1:]:
        found["warn"] = _leveled(labels, "warn" if f"{PREFIX}warn-version" in labels else "enforce", enforced)
    return Policy(**found)


def _leveled(labels: Mapping[str, str], mode: str, level: str) -> str:
    return f"{level}:{labels.get(f'{PREFIX}{mode}-version') or 'latest'}"


def violations(obj: Object, level: str) -> str:
    """What of it the level forbids, in one sentence; empty if nothing. `level` may have a version."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in _found(obj, level.partition(":")[0]))


def reasons(obj: Object, level: str) -> str:
    """The same without the details."""
    return ", ".join(reason for reason, _ in _found(obj, level.partition(":")[0]))


def _found(obj: Object, level: str) -> Iterator[tuple[str, str]]:
    if level == "privileged":
        return
    checks = pod_security_checks.RESTRICTED if level == "restricted" else pod_security_checks.BASELINE
    for check in checks:
        if found := check(obj):
            yield found


def refusal(pod: Object, labels: Mapping[str, str]) -> StatusError | None:
    """Of a new pod, or one whose images change, in a namespace with these labels."""
    enforced = policy(labels).enforce
    message = violations(pod, enforced)
    if not message:
        return None
    subject = StatusDetails("pods", name=pod["metadata"].get("name") or "")
    return api_errors.forbidden(subject, f"violates PodSecurity {go_format.quote(enforced)}: {message}")


def warnings(obj: Object, labels: Mapping[str, str]) -> list[str]:
    """For a pod, or for a controller's template of pods, which is only warned about."""
    wanted = policy(labels).warn
    message = violations(obj, wanted)
    return [f"would violate PodSecurity {go_format.quote(wanted)}: {message}"] if message else []
