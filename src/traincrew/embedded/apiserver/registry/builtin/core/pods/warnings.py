"""The warnings that kubectl shows for pods and pod templates."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator

from traincrew.apimachinery import go_format, name_validation, quantities
from traincrew.apimachinery.unstructured import Object

_DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_BYTES = ("memory", "ephemeral-storage")
MAX_WARNINGS = 1_000
"""More are never shown: a response has four kilobytes of warnings."""


def pod(obj: Object) -> list[str]:
    messages = name_is_a_label(obj, "this is used in the Pod's hostname")
    return [*messages, *itertools.islice(_of(obj["metadata"], obj["spec"], ""), MAX_WARNINGS)]


def template(obj: Object, path: str) -> list[str]:
    return [*itertools.islice(_of(obj.get("metadata") or {}, obj["spec"], f"{path}."), MAX_WARNINGS)]


def name_is_a_label(obj: Object, use: str) -> list[str]:
    errors = name_validation.dns_label(obj["metadata"].get("name") or "")
    detail = f"metadata.name: {use}, which can result in surprising behavior; a DNS label is recommended"
    return [f"{detail}: [{' '.join(errors)}]"] if errors else []


def _of(meta: Object, spec: Object, path: str) -> Iterator[str]:
    yield from _node_warnings(spec, path)
    annotations = meta.get("annotations") or {}
    for key, detail in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {detail}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        for kind, detail in _DEPRECATED_VOLUMES.items():
            if kind in volume:
                yield f"{path}spec.volumes[{index}].{kind}: {detail}"
    yield from _repeated(spec.get("hostAliases") or (), f"{path}spec.hostAliases", "ip")
    yield from _repeated(spec.get("imagePullSecrets") or (), f"{path}spec.imagePullSecrets", "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}spec.imagePullSecrets[{index}].name: invalid empty name ""'
    for at, container in _containers(spec, path):
        yield from _fractions(container.get("resources") or {}, at)
        yield from _hidden(container.get("env") or (), f"{at}.env")
    yield from _ports(spec, path)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield f"{path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _unmatched(spec.get("affinity") or {}, f"{path}spec.affinity")


def _containers(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield f"{path}spec.{kind}[{index}]", container


def _node_warnings(spec: Object, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in _DEPRECATED_NODE_LABELS:
            yield f"{path}spec.nodeSelector[{key}]: {_DEPRECATED_NODE_LABELS[key]}"
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{path}spec.topologySpreadConstraints[{index}]"
        if constraint.get("topologyKey") in _DEPRECATED_NODE_LABELS:
            yield f"{at}.topologyKey: {constraint['topologyKey']} is {_DEPRECATED_NODE_LABELS[constraint['topologyKey']]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: a null labelSelector results in matching no pod"


def _repeated(items: list[Object] | tuple[Object, ...], path: str, field: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            yield f"{path}[{index}].{field}: duplicate {field} {go_format.quote(value)}"
        seen.add(value)


def _is_fraction(name: str, value: str) -> bool:
    return name in _BYTES and value[-1:] not in "ikMGTP" and not quantities.is_integer(value)


def _fractions(resources: Object, path: str) -> Iterator[str]:
    for name in _BYTES if resources else ():
        for side in ("limits", "requests"):
            value = (resources.get(side) or {}).get(name)
            if value is not None and _is_fraction(name, value):
                yield f'{path}.resources.{side}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _hidden(variables: list[Object] | tuple[Object, ...], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            yield f'{path}[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(spec: Object, path: str) -> Iterator[str]:
    seen: dict[tuple[int, str], _SeenPorts] = {}
    for at, container in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{at}.ports[{index}]"
            others = seen.setdefault((port.get("containerPort", 0), port.get("protocol", "")), _SeenPorts())
            for other, former in others.overlapping(port):
                yield _overlap(where, port, other, former)
            others.add(where, port)


class _SeenPorts:
    """Ports with the same number and protocol. Only those that overlap with a port are looked at: there may be thousands."""

    def __init__(self) -> None:
        self._all: list[tuple[str, Object]] = []
        self._by_host_port: dict[int, list[int]] = {}
        self._by_host_address: dict[tuple[int, str], list[int]] = {}

    def add(self, where: str, port: Object) -> None:
        host_port, address = _host_address(port)
        self._by_host_port.setdefault(host_port, []).append(len(self._all))
        self._by_host_address.setdefault((host_port, address), []).append(len(self._all))
        self._all.append((where, port))

    def overlapping(self, port: Object) -> Iterator[tuple[str, Object]]:
        host_port, address = _host_address(port)
        if not host_port:
            indexes: Iterable[int] = range(len(self._all))
        else:
            same = self._by_host_port if not address else {host_port: self._with_address(host_port, address)}
            indexes = heapq.merge(self._by_host_port.get(0, ()), same.get(host_port, ()))
        return (self._all[index] for index in indexes)

    def _with_address(self, host_port: int, address: str) -> list[int]:
        """Ports of the same address, and those of every address."""
        groups = (self._by_host_address.get((host_port, each), []) for each in (address, ""))
        return list(heapq.merge(*groups))


def _host_address(port: Object) -> tuple[int, str]:
    return port.get("hostPort") or 0, port.get("hostIP") or ""


def _overlap(where: str, port: Object, other: str, former: Object) -> str:
    mine, theirs = _host_address(port), _host_address(former)
    if mine == theirs:
        return f"{where}: duplicate port definition with {other}"
    if not mine[0] or not theirs[0]:
        return f"{where}: overlapping port definition with {other}"
    return f"{where}: dangerously ambiguous port definition with {other}"


def _unmatched(affinity: Object, path: str) -> Iterator[str]:
    detail = "labelSelector: a null labelSelector results in matching no pod"
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}].{detail}"
        for index, term in enumerate(terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}.{kind}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm.{detail}"
