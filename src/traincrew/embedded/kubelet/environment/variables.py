"""A container's environment variables, as the kubelet makes them. PURE."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from traincrew.embedded.kubelet.environment import downward_api, service_links
from traincrew.embedded.kubelet.environment.errors import ConfigError
from traincrew.embedded.kubelet.environment.expansion import expand

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class EnvironmentSources:
    """What of the cluster a container may be told."""

    config_maps: Mapping[str, Object | None] = dataclasses.field(default_factory=dict)
    """Of the pod's namespace, those that the container names; None: there is none of that name."""
    secrets: Mapping[str, Object | None] = dataclasses.field(default_factory=dict)
    services: Sequence[Object] = ()
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Absent(Exception):
    """An optional value is not there: the variable is left out."""


def build_environment(pod: Object, container: Object, known: EnvironmentSources) -> dict[str, str]:
    """Raises ConfigError."""
    namespace, spec = pod["metadata"].get("namespace", ""), pod["spec"]
    services = service_links.service_variables(known.services, namespace, spec.get("enableServiceLinks", True) is not False)
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        found |= {f"{source.get('prefix') or ''}{key}": value for key, value in _whole(source, known)}
    for entry in container.get("env") or ():
        try:
            found[entry["name"]] = _value(entry, pod, container, known, {**services, **found})
        except _Absent:
            continue
    for name, value in services.items():
        found.setdefault(name, value)
    return found


def expand_command(container: Object, variables: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Command and arguments with their references replaced."""
    words = [tuple(expand(word, variables) for word in container.get(part) or ()) for part in ("command", "args")]
    return words[0], words[1]


def referenced_objects(container: Object) -> tuple[set[str], set[str]]:
    """The config maps and the secrets that the variables come from."""
    maps: set[str] = set()
    secrets: set[str] = set()
    for source in container.get("envFrom") or ():
        maps |= {(source.get("configMapRef") or {}).get("name", "")}
        secrets |= {(source.get("secretRef") or {}).get("name", "")}
    for entry in container.get("env") or ():
        origin = entry.get("valueFrom") or {}
        maps |= {(origin.get("configMapKeyRef") or {}).get("name", "")}
        secrets |= {(origin.get("secretKeyRef") or {}).get("name", "")}
    return maps - {""}, secrets - {""}


def _whole(source: Object, known: EnvironmentSources) -> Iterator[tuple[str, str]]:
    if reference := source.get("configMapRef"):
        found = _object(known.config_maps, "configmap", reference)
        yield from ((found or {}).get("data") or {}).items()
    elif reference := source.get("secretRef"):
        found = _object(known.secrets, "secret", reference)
        yield from ((key, _text(value)) for key, value in ((found or {}).get("data") or {}).items())


def _object(objects: Mapping[str, Object | None], kind: str, reference: Object) -> Object | None:
    found = objects.get(reference["name"])
    if found is None and not reference.get("optional"):
        raise ConfigError(f'{kind} "{reference["name"]}" not found')
    return found


def _value(entry: Object, pod: Object, container: Object, known: EnvironmentSources, sofar: Mapping[str, str]) -> str:
    if entry.get("value"):
        return expand(entry["value"], sofar)
    origin = entry.get("valueFrom") or {}
    try:
        if reference := origin.get("fieldRef"):
            return downward_api.field(pod, reference["fieldPath"], known.pod_ips, known.host_ips)
        if reference := origin.get("resourceFieldRef"):
            return downward_api.resource(pod, reference, container["name"], known.allocatable)
    except downward_api.UnsupportedField as error:
        raise ConfigError(str(error)) from None
    namespace = pod["metadata"].get("namespace", "")
    if reference := origin.get("configMapKeyRef"):
        return _key(_object(known.config_maps, "configmap", reference), reference, f"ConfigMap {namespace}")
    if reference := origin.get("secretKeyRef"):
        return _text(_key(_object(known.secrets, "secret", reference), reference, f"Secret {namespace}"))
    return ""


def _key(found: Object | None, reference: Object, where: str) -> str:
    values = (found or {}).get("data") or {}
    if reference["key"] in values:
        return str(values[reference["key"]])
    if reference.get("optional"):
        raise _Absent
    raise ConfigError(f"couldn't find key {reference['key']} in {where}/{reference['name']}")


def _text(encoded: str) -> str:
    """Bytes that are no text reach the process as they are."""
    return base64.b64decode(encoded or "").decode("utf-8", "surrogateescape")
