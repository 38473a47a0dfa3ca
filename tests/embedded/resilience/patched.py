"""Patches of every type, most of them aimed at something that is there."""

from __future__ import annotations

import random
from typing import Any

import yaml
from tests.embedded.resilience import documents, nonsense

from traincrew.apimachinery.resource_info import Object, ResourceInfo

DIRECTIVES = ("replace", "delete", "merge", "", "x", None, 1)


def patch(chance: random.Random, served: ResourceInfo) -> tuple[str, bytes]:
    """Content type and body."""
    obj = documents.document(chance, served)
    match chance.randrange(4):
        case 0:
            return "application/json-patch+json", nonsense.dumped(_operations(chance, obj))
        case 1:
            return "application/merge-patch+json", nonsense.dumped(_part(chance, documents.spoiled(chance, obj)))
        case 2:
            return "application/strategic-merge-patch+json", nonsense.dumped(_part(chance, _directed(chance, obj)))
    found = documents.spoiled(chance, obj)
    if chance.random() < 0.5:
        return "application/apply-patch+yaml", nonsense.dumped(found)
    return "application/apply-patch+yaml", yaml.dump(found).encode("utf-8", "surrogatepass")


def _part(chance: random.Random, obj: Object) -> Any:
    """Patches name only some of the fields."""
    if chance.random() < 0.05:
        return nonsense.value(chance)
    return {key: inner for key, inner in obj.items() if chance.random() < 0.7}


def _operations(chance: random.Random, obj: Object) -> Any:
    if chance.random() < 0.05:
        return nonsense.value(chance)
    return [_operation(chance, obj) for _ in range(chance.choice((0, 1, 1, 2, 5)))]


def _operation(chance: random.Random, obj: Object) -> Any:
    made: Object = {"op": chance.choice(("add", "remove", "replace", "move", "copy", "test")), "path": _pointer(chance, obj)}
    if chance.random() < 0.8:
        made["value"] = nonsense.value(chance)
    if made["op"] in ("move", "copy") or chance.random() < 0.1:
        made["from"] = _pointer(chance, obj)
    return documents.spoiled(chance, made) if chance.random() < 0.2 else made


def _pointer(chance: random.Random, obj: Object) -> str:
    steps: list[str] = []
    node: Any = obj
    while isinstance(node, dict | list) and node and chance.random() < 0.85:
        key = chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))
        steps.append(str(key))
        node = node[key]
    if chance.random() < 0.25:
        steps.append(chance.choice(("-", "-1", "00", "99999999999", "~0", "~2", "a~1b", "²", nonsense.text(chance))))
    return "".join("/" + step for step in steps)


def _directed(chance: random.Random, obj: Object) -> Object:
    """With directives of strategic merge patches, right and wrong."""
    spoiled = documents.spoiled(chance, obj)
    mappings = [within[key] for within, key in documents.places(spoiled) if isinstance(within[key], dict | list)]
    for _ in range(chance.randrange(3) if mappings else 0):
        within = chance.choice(mappings)
        if isinstance(within, list):
            within.append({"$patch": chance.choice(DIRECTIVES), "name": "a"})
        elif chance.random() < 0.5:
            within["$patch"] = chance.choice(DIRECTIVES)
        else:
            prefix = chance.choice(("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"))
            key = chance.choice([*within, "containers", ""]) if prefix.endswith("/") else ""
            within[f"{prefix}{key}"] = chance.choice((["a"], [{"name": "a"}], [{"ip": 1}], "a", None, [None], [[]], list(within)))
    return spoiled
