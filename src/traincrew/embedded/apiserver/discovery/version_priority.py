"""The priority of groups and versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from traincrew.apimachinery.resource_info import ResourceInfo

_FORM = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}

_PRIORITIES = {
    "": 18000, "apiregistration.k8s.io": 18000, "apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600, "autoscaling": 17500, "batch": 17400, "certificates.k8s.io": 17300, "networking.k8s.io": 17200,
    "policy": 17100, "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800, "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700, "scheduling.k8s.io": 16600, "coordination.k8s.io": 16500, "node.k8s.io": 16300,
    "discovery.k8s.io": 16200, "resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100, "metrics.k8s.io": 100,
}  # fmt: skip
_CUSTOM = 1000


def version_key(version: str) -> tuple[int, int, int, int, str]:
    """A sort key with the preferred version last: v2, v1, v2beta1, v1alpha3, then other names."""
    form = _FORM.fullmatch(version)
    if form is None:
        # Other names come after all versions, in alphabetical order: the key sorts in reverse.
        return (0, 0, 0, 0, "".join(chr(0x10FFFF - ord(letter)) for letter in version) + chr(0x10FFFF))
    return (1, _STABILITY[form[2]], int(form[1]), int(form[3] or 0), "")


def versions(names: Iterable[str]) -> list[str]:
    """Preferred first, without duplicates."""
    return sorted(set(names), key=version_key, reverse=True)


def groups(resources: Sequence[ResourceInfo]) -> dict[str, list[str]]:
    """Every group with its versions, preferred first, in the order of kube-apiserver. The core group is ""."""
    by_group: dict[str, set[str]] = {}
    for each in resources:
        by_group.setdefault(each.group, set()).add(each.version)
    ordered = sorted(by_group, key=lambda group: (-_PRIORITIES.get(group, _CUSTOM), group))
    return {group: versions(by_group[group]) for group in ordered}
