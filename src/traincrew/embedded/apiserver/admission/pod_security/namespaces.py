"""PodSecurity of namespaces: validation of their labels, and warnings about existing pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.pod_security.policy import LEVELS, PREFIX, from_labels, reasons

_VERSION = re.compile(r"latest|v1\.([0-9]|[1-9][0-9]*)")
_MAX_PODS = 3000


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    errors = []
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            errors.append(field_errors.invalid(f"metadata.labels[{PREFIX}{mode}]", level, f"must be one of {', '.join(LEVELS)}"))
        if version is not None and not _VERSION.fullmatch(version):
            at = f"metadata.labels[{PREFIX}{mode}-version]"
            errors.append(field_errors.invalid(at, version, 'must be "latest" or "v1.x"'))
    return errors


def is_stricter(wanted: Mapping[str, str], held: Mapping[str, str]) -> bool:
    """Whether pods that were allowed may be forbidden now."""
    (level, _, version), (before, _, earlier) = (from_labels(each).enforce.partition(":") for each in (wanted, held))
    if level == "privileged" or (level, version) == (before, earlier):
        return False
    return version != earlier or LEVELS.index(level) > LEVELS.index(before)


def existing_pod_warnings(namespace: str, pods: Iterable[Object], labels: Mapping[str, str]) -> list[str]:
    """A warning for each violation, with the name of the first pod."""
    enforced = from_labels(labels).enforce
    short: dict[str, list[str]] = {}
    for _, pod in zip(range(_MAX_PODS), pods, strict=False):
        if message := reasons(pod, enforced):
            short.setdefault(message, []).append(pod["metadata"]["name"])
    if not short:
        return []
    quoted = go_format.quote
    title = f"existing pods in namespace {quoted(namespace)} violate the new PodSecurity enforce level {quoted(enforced)}"
    return [title, *sorted(f"{min(names)}{_others(len(names) - 1)}: {message}" for message, names in short.items())]


def _others(count: int) -> str:
    if not count:
        return ""
    return " (and 1 other pod)" if count == 1 else f" (and {count} other pods)"
