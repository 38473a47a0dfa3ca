"""Objects as YAML that people read: in the order of a manifest, with the lines of scripts as lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

_FIRST = ("apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations", "spec", "status")
"""Of an object and of its metadata. Other fields of metadata follow."""
_PLAIN_LINES = re.compile(r"[^\s][^\n]*(\n+[^\n]*)*\n?")


class _Dumper(yaml.CSafeDumper):
    pass


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """Where a block cannot have the text, such as spaces at the end of a line, the dumper quotes it."""
    block = "\n" in value.rstrip("\n") and _PLAIN_LINES.fullmatch(value) is not None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)


_Dumper.add_representer(str, _text)


def of(document: Mapping[str, Any]) -> str:
    found = _ordered(document)
    if isinstance(found.get("metadata"), dict):
        found["metadata"] = _ordered(found["metadata"])
    text: str = yaml.dump(found, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=130)
    return text


def _ordered(fields: Mapping[str, Any]) -> dict[str, Any]:
    rest = [key for key in fields if key not in _FIRST]
    return {key: fields[key] for key in (*_FIRST, *rest) if key in fields}
