"""Builds a container's environment variables, as the kubelet does. PURE."""

from __future__ import annotations

import base64
import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars import downward_api, exec_limits, service_links
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.envvars.exec_limits import ExecSize


@dataclasses.dataclass(frozen=True)
class EnvVarSources:
    """The objects and addresses that environment variables can refer to."""

    config_maps: Mapping[str, Object | None] = dataclasses.field(default_factory=dict)
    """The ConfigMaps that the container refers to, by name. None: the ConfigMap does not exist."""
    secrets: Mapping[str, Object | None] = dataclasses.field(default_factory=dict)
    services: Sequence[Object] = ()
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Absent(Exception):
    """An optional value does not exist, so the variable is left out."""


def build_environment(pod: Object, container: Object, sources: EnvVarSources) -> dict[str, str]:
    """Raises ConfigError."""
    variables, services, size = dict[str, str](), _service_variables(pod, sources), ExecSize()
    for name, value in _written(pod, container, sources, collections.ChainMap(variables, services)):
        size.add_variable(name, value)
        variables[name] = value
    for name, value in services.items():
        if name not in variables:
            size.add_variable(name, value)
            variables[name] = value
    return variables


def _service_variables(pod: Object, sources: EnvVarSources) -> dict[str, str]:
    """Raises ConfigError."""
    namespace, links = pod["metadata"].get("namespace", ""), pod["spec"].get("enableServiceLinks", True) is not False
    variables, size = dict[str, str](), ExecSize()
    for name, value in service_links.service_variables(sources.services, namespace, links):
        size.add_variable(name, value)
        variables[name] = value
    return variables


def _written(pod: Object, container: Object, sources: EnvVarSources, previous: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that the container names, in order. Each may refer to the previous ones."""
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix") or ""
        yield from ((f"{prefix}{key}", value) for key, value in _env_from(source, sources))
    for entry in container.get("env") or ():
        try:
            yield entry["name"], _value(entry, pod, container, sources, previous)
        except _Absent:
            continue


def expand_command(container: Object, variables: Mapping[str, str], size: ExecSize) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Command and arguments with their references replaced. size: of the variables. Raises ConfigError."""
    return _words(container, "command", variables, size), _words(container, "args", variables, size)


def _words(container: Object, part: str, variables: Mapping[str, str], size: ExecSize) -> tuple[str, ...]:
    words = list[str]()
    for index, word in enumerate(container.get(part) or ()):
        field = f"{part}[{index}]"
        words.append(exec_limits.expand_argument(field, word, variables))
        size.add_argument(field, words[-1])
    return tuple(words)


def referenced_objects(container: Object) -> tuple[set[str], set[str]]:
    """The names of the ConfigMaps and of the Secrets that the variables refer to."""
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


def _env_from(source: Object, sources: EnvVarSources) -> Iterator[tuple[str, str]]:
    if reference := source.get("configMapRef"):
        referenced = _object(sources.config_maps, "configmap", reference)
        yield from ((referenced or {}).get("data") or {}).items()
    elif reference := source.get("secretRef"):
        referenced = _object(sources.secrets, "secret", reference)
        yield from ((key, _text(value)) for key, value in ((referenced or {}).get("data") or {}).items())


def _object(objects: Mapping[str, Object | None], kind: str, reference: Object) -> Object | None:
    referenced = objects.get(reference["name"])
    if referenced is None and not reference.get("optional"):
        raise ConfigError(f'{kind} "{reference["name"]}" not found')
    return referenced


def _value(entry: Object, pod: Object, container: Object, sources: EnvVarSources, previous: Mapping[str, str]) -> str:
    if entry.get("value"):
        return exec_limits.expand_variable(entry["name"], entry["value"], previous)
    origin = entry.get("valueFrom") or {}
    try:
        if reference := origin.get("fieldRef"):
            return downward_api.field(pod, reference["fieldPath"], sources.pod_ips, sources.host_ips)
        if reference := origin.get("resourceFieldRef"):
            return downward_api.resource(pod, reference, container["name"], sources.allocatable)
    except downward_api.UnsupportedField as error:
        raise ConfigError(str(error)) from None
    namespace = pod["metadata"].get("namespace", "")
    if reference := origin.get("configMapKeyRef"):
        return _key(_object(sources.config_maps, "configmap", reference), reference, f"ConfigMap {namespace}")
    if reference := origin.get("secretKeyRef"):
        return _text(_key(_object(sources.secrets, "secret", reference), reference, f"Secret {namespace}"))
    return ""


def _key(referenced: Object | None, reference: Object, where: str) -> str:
    values = (referenced or {}).get("data") or {}
    if reference["key"] in values:
        return str(values[reference["key"]])
    if reference.get("optional"):
        raise _Absent
    raise ConfigError(f"couldn't find key {reference['key']} in {where}/{reference['name']}")


def _text(encoded: str) -> str:
    """Bytes that are not UTF-8 reach the process unchanged."""
    return base64.b64decode(encoded or "").decode("utf-8", "surrogateescape")
