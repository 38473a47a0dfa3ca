"""cluster.yaml: defaults of the options of `up` and `node`.

The keys are the names of the options. The command line overrides the file of the cluster, which overrides the file of the user.
`devices` is a mapping whose entries are merged.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from traincrew import errors
from traincrew.cli import node_options, size_arguments

NAME = "cluster.yaml"


def paths(data: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The file of the user, and the file of the cluster, which overrides it."""
    config = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
    return pathlib.Path(config, "traincrew", NAME), data / NAME


def applied(context: click.Context, flags: Mapping[str, Any], data: pathlib.Path) -> dict[str, Any]:
    """The flags, with the values of the files instead of the defaults. Raise SettingsError for invalid files."""
    merged = dict(flags)
    devices: dict[str, int] = {}
    for path in paths(data):
        for key, value in read(path).items():
            if key == "devices":
                devices |= value
            elif (flag := key.replace("-", "_")) in flags and context.get_parameter_source(flag) is ParameterSource.DEFAULT:
                merged[flag] = value
    # The devices of the command line come last, and the last value of a device counts.
    merged["devices"] = (*(f"{name}={count}" for name, count in devices.items()), *flags["devices"])
    return merged


def read(path: pathlib.Path) -> dict[str, Any]:
    """The settings of a file; empty if it does not exist. A directory without access is reported later, by its user."""
    if not os.access(path.parent, os.X_OK):
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise errors.SettingsError(f"cannot read {path}: {error}") from None
    import yaml

    try:
        content = yaml.load(text, yaml.CSafeLoader) or {}
    except yaml.YAMLError as error:
        raise errors.SettingsError(f"cannot parse {path} as YAML: {error}") from None
    if not isinstance(content, dict):
        raise errors.SettingsError(f"{path}: expected a mapping of settings")
    return {key: _validated(path, key, value) for key, value in content.items()}


def _validated(path: pathlib.Path, key: Any, value: Any) -> Any:
    if key not in _KEYS:
        raise errors.SettingsError(f"{path}: unknown setting {key!r}. Known settings: {', '.join(_KEYS)}.")
    is_valid, expected, convert = _KEYS[key]
    if not is_valid(value):
        raise errors.SettingsError(f"{path}: {key}: expected {expected}, got {value!r}")
    return convert(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_devices(value: Any) -> bool:
    return isinstance(value, dict) and all("/" in str(name) and _is_count(count) for name, count in value.items())


def _is_size(value: Any) -> bool:
    try:
        return size_arguments.parse("--log-bytes", str(value)) >= 0
    except errors.SettingsError:
        return False


def _are_resources(value: Any) -> bool:
    return isinstance(value, list) and all(each in node_options.OVERCOMMIT for each in value)


def _are_sysctls(value: Any) -> bool:
    try:
        return isinstance(value, list) and len(node_options.parse_sysctls([str(each) for each in value])) == len(value)
    except errors.SettingsError:
        return False


_LEVELS, _OVERCOMMIT = node_options.ISOLATION_LEVELS, node_options.OVERCOMMIT
_KEYS: Mapping[str, tuple[Callable[[Any], bool], str, Callable[[Any], Any]]] = {
    "isolation": (lambda value: value in _LEVELS, f"one of {', '.join(_LEVELS)}", str),
    "devices": (_are_devices, "a mapping of names such as nvidia.com/vgpu to whole numbers", dict),
    "overcommit": (_are_resources, f"a list of values from {', '.join(_OVERCOMMIT)}", lambda value: tuple(value) or ("none",)),
    "strict-images": (lambda value: isinstance(value, bool), "true or false", bool),
    "pod-pids": (_is_count, "a whole number", int),
    "allowed-unsafe-sysctls": (_are_sysctls, "a list of namespaced sysctls such as net.core.somaxconn or kernel.shm*", tuple),
    "log-days": (lambda value: _is_count(value) or (isinstance(value, float) and value >= 0), "a number of days", float),
    "log-bytes": (_is_size, "a size such as 500Mi or 2Gi", str),
}
"""By setting: whether a value is valid, what is expected, and the conversion."""
