"""cluster.yaml: what would otherwise be said with every `up` or `node`. The command line wins, then the cluster's own file.

Its keys are the names of the flags; `devices` is a mapping, and every device counts for itself.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from traincrew import errors
from traincrew.cli.commands import node_flags

NAME = "cluster.yaml"


def paths(data: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The user's, and that of the cluster, which overrides it."""
    config = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
    return pathlib.Path(config, "traincrew", NAME), data / NAME


def applied(context: click.Context, flags: Mapping[str, Any], data: pathlib.Path) -> dict[str, Any]:
    """The flags, with what the files say in the place of defaults. Raises SettingsError."""
    found = dict(flags)
    devices: dict[str, int] = {}
    for path in paths(data):
        for key, value in read(path).items():
            if key == "devices":
                devices |= value
            elif (flag := key.replace("-", "_")) in flags and context.get_parameter_source(flag) is ParameterSource.DEFAULT:
                found[flag] = value
    # Those of the command line come later, and the last word counts.
    found["devices"] = (*(f"{name}={count}" for name, count in devices.items()), *flags["devices"])
    return found


def read(path: pathlib.Path) -> dict[str, Any]:
    """Nothing if there is no such file; of a directory that is closed to us others tell better."""
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
    return {key: _checked(path, key, value) for key, value in content.items()}


def _checked(path: pathlib.Path, key: Any, value: Any) -> Any:
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
        return node_flags.size(str(value)) >= 0
    except errors.SettingsError:
        return False


def _are_shared(value: Any) -> bool:
    return isinstance(value, list) and all(each in node_flags.SHARED for each in value)


_KEYS: Mapping[str, tuple[Callable[[Any], bool], str, Callable[[Any], Any]]] = {
    "isolation": (lambda value: value in node_flags.LEVELS, f"one of {', '.join(node_flags.LEVELS)}", str),
    "devices": (_are_devices, "a mapping of names such as nvidia.com/vgpu to whole numbers", dict),
    "overcommit": (_are_shared, f"a list of values from {', '.join(node_flags.SHARED)}", lambda value: tuple(value) or ("none",)),
    "strict-images": (lambda value: isinstance(value, bool), "true or false", bool),
    "pod-pids": (_is_count, "a whole number", int),
    "log-days": (lambda value: _is_count(value) or (isinstance(value, float) and value >= 0), "a number of days", float),
    "log-bytes": (_is_size, "a size such as 500Mi or 2Gi", str),
}
