"""The policy of a namespace with labels of PodSecurity, and the violations of a pod."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.api_errors import StatusDetails, StatusError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.pod_security import checks as pod_security_checks

LEVELS = ("privileged", "baseline", "restricted")
PREFIX = "pod-security.kubernetes.io/"


@dataclasses.dataclass(frozen=True)
class PodSecurityPolicy:
    """The levels that the labels of a namespace set, each as `level:version`."""

    enforce: str = "privileged:latest"
    warn: str = "privileged:latest"
    audit: str = "privileged:latest"


PRIVILEGED = PodSecurityPolicy()


def from_labels(labels: Mapping[str, str]) -> PodSecurityPolicy:
    """An unknown level is enforced as the strictest. It causes no warnings and no audit annotations."""
    if not any(label.startswith(PREFIX) for label in labels):
        return PRIVILEGED
    enforced = labels.get(f"{PREFIX}enforce", "privileged")
    levels = {"enforce": _level_and_version(labels, "enforce", enforced if enforced in LEVELS else "restricted")}
    for mode in ("warn", "audit"):
        level = labels.get(PREFIX + mode, "privileged")
        levels[mode] = _level_and_version(labels, mode, level if level in LEVELS else "privileged")
    # As upstream: without a warn label, warn follows enforce.
    if f"{PREFIX}warn" not in labels and enforced in LEVELS[1:]:
        levels["warn"] = _level_and_version(labels, "warn" if f"{PREFIX}warn-version" in labels else "enforce", enforced)
    return PodSecurityPolicy(**levels)


def _level_and_version(labels: Mapping[str, str], mode: str, level: str) -> str:
    return f"{level}:{labels.get(f'{PREFIX}{mode}-version') or 'latest'}"


def violations(obj: Object, level: str) -> str:
    """The violations of the level, in one sentence; empty if there are none. `level` may have a version."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in _findings(obj, level.partition(":")[0]))


def reasons(obj: Object, level: str) -> str:
    """The same without the details."""
    return ", ".join(reason for reason, _ in _findings(obj, level.partition(":")[0]))


def _findings(obj: Object, level: str) -> Iterator[tuple[str, str]]:
    if level == "privileged":
        return
    checks = pod_security_checks.RESTRICTED if level == "restricted" else pod_security_checks.BASELINE
    for check in checks:
        if finding := check(obj):
            yield finding


def violation_error(name: str, enforced: str, violations: str) -> StatusError:
    """The error for a pod that violates the enforced level."""
    return api_errors.forbidden(
        StatusDetails("pods", name=name), f"violates PodSecurity {go_format.quote(enforced)}: {violations}"
    )


def warnings(obj: Object, levels: PodSecurityPolicy) -> list[str]:
    """For a pod or a pod template."""
    return [_would_violate(levels.warn, message)] if (message := violations(obj, levels.warn)) else []


def audit_annotations(obj: Object, levels: PodSecurityPolicy, *, enforced: bool) -> dict[str, str]:
    """For the audit event of a pod (enforced) or a pod template."""
    annotations = {f"{PREFIX}enforce-policy": levels.enforce} if enforced else {}
    if message := violations(obj, levels.audit):
        annotations[f"{PREFIX}audit-violations"] = _would_violate(levels.audit, message)
    return annotations


def _would_violate(level: str, message: str) -> str:
    return f"would violate PodSecurity {go_format.quote(level)}: {message}"
