"""Valid and invalid objects of the built-in kinds: a base of each kind, and edits of it.

bases.yaml has one object of each kind, edits/<kind>.txt one edit a line, `path = JSON`, with ` ; ` between several. A path
that ends in `!` removes the field. Edits under [update] change the stored object and are sent with PUT, those under [status]
change its status. The edits of metadata.txt apply to every kind.
"""

from __future__ import annotations

import copy
import functools
import json
import pathlib
import re
from typing import Any

import yaml

Object = dict[str, Any]

CLUSTER_SCOPED = ("Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass")

_HERE = pathlib.Path(__file__).parent
_PLURALS = {
    "Ingress": "ingresses",
    "NetworkPolicy": "networkpolicies",
    "Endpoints": "endpoints",
    "PriorityClass": "priorityclasses",
    "StorageClass": "storageclasses",
}
_STEP = re.compile(r"\.?([^.\[\]!]+)|\[(\d+)\]")


def plural(kind: str) -> str:
    return _PLURALS.get(kind, kind.lower() + "s")


@functools.cache
def _bases() -> dict[str, Object]:
    return {obj["kind"]: obj for obj in yaml.safe_load_all((_HERE / "bases.yaml").read_text())}


def kinds() -> list[str]:
    return sorted(_bases())


def base(kind: str) -> Object:
    return copy.deepcopy(_bases()[kind])


def edits(kind: str, section: str) -> list[str]:
    """The lines of one section; `create` includes the edits of the metadata and an empty edit."""
    sections: dict[str, list[str]] = {}
    title = ""
    for line in (_HERE / "edits" / f"{kind}.txt").read_text().splitlines():
        if line.startswith("["):
            title = line.strip("[]")
        elif line.strip():
            sections.setdefault(title, []).append(line.strip())
    common = ["", *(_HERE / "edits" / "metadata.txt").read_text().splitlines()] if section == "create" else []
    return [*common, *sections.get(section, [])]


def edited(obj: Object, line: str) -> Object:
    changed = copy.deepcopy(obj)
    for edit in line.split(" ; ") if line else ():
        path, _, value = edit.partition(" = ")
        _edit(changed, path.strip(), json.loads(value) if value else None)
    return changed


def is_applicable(kind: str, line: str) -> bool:
    """The second of two edits may need a field that the first one removes."""
    try:
        edited(base(kind), line)
    except (IndexError, KeyError, TypeError, AttributeError):
        return False
    return True


def _edit(obj: Any, path: str, value: Any) -> None:
    steps: list[Any] = [int(index) if index else name for name, index in _STEP.findall(path)]
    for step in steps[:-1]:
        if isinstance(obj, dict) and isinstance(step, int):
            raise TypeError(path)
        obj = obj.setdefault(step, {}) if isinstance(obj, dict) else obj[step]
    if isinstance(obj, dict) and isinstance(steps[-1], int):
        raise TypeError(path)
    if path.endswith("!"):
        obj.pop(steps[-1], None)
    elif isinstance(obj, list) and steps[-1] == len(obj):
        obj.append(value)
    else:
        obj[steps[-1]] = value
