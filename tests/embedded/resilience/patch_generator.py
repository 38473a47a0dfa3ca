"""Patches of every type, most of them with paths that exist."""

from __future__ import annotations

import random
from typing import Any

import yaml
from tests.embedded.resilience import fuzz_values, object_generator

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object

DIRECTIVES = ("replace", "delete", "merge", "", "x", None, 1)


def generate(rng: random.Random, info: ResourceInfo) -> tuple[str, bytes]:
    """Content type and body."""
    obj = object_generator.generate(rng, info)
    match rng.randrange(4):
        case 0:
            return "application/json-patch+json", fuzz_values.to_json(_operations(rng, obj))
        case 1:
            return "application/merge-patch+json", fuzz_values.to_json(_part(rng, object_generator.mutated(rng, obj)))
        case 2:
            return "application/strategic-merge-patch+json", fuzz_values.to_json(_part(rng, _with_directives(rng, obj)))
    desired = object_generator.mutated(rng, obj)
    if rng.random() < 0.5:
        return "application/apply-patch+yaml", fuzz_values.to_json(desired)
    return "application/apply-patch+yaml", yaml.dump(desired).encode("utf-8", "surrogatepass")


def _part(rng: random.Random, obj: Object) -> Any:
    """Some of the fields, as in a patch."""
    if rng.random() < 0.05:
        return fuzz_values.value(rng)
    return {key: inner for key, inner in obj.items() if rng.random() < 0.7}


def _operations(rng: random.Random, obj: Object) -> Any:
    if rng.random() < 0.05:
        return fuzz_values.value(rng)
    return [_operation(rng, obj) for _ in range(rng.choice((0, 1, 1, 2, 5)))]


def _operation(rng: random.Random, obj: Object) -> Any:
    operation: Object = {"op": rng.choice(("add", "remove", "replace", "move", "copy", "test")), "path": _pointer(rng, obj)}
    if rng.random() < 0.8:
        operation["value"] = fuzz_values.value(rng)
    if operation["op"] in ("move", "copy") or rng.random() < 0.1:
        operation["from"] = _pointer(rng, obj)
    return object_generator.mutated(rng, operation) if rng.random() < 0.2 else operation


def _pointer(rng: random.Random, obj: Object) -> str:
    steps: list[str] = []
    node: Any = obj
    while isinstance(node, dict | list) and node and rng.random() < 0.85:
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        steps.append(str(key))
        node = node[key]
    if rng.random() < 0.25:
        steps.append(rng.choice(("-", "-1", "00", "99999999999", "~0", "~2", "a~1b", "²", fuzz_values.text(rng))))
    return "".join("/" + step for step in steps)


def _with_directives(rng: random.Random, obj: Object) -> Object:
    """Adds directives of strategic merge patches, valid and invalid ones."""
    mutated = object_generator.mutated(rng, obj)
    mappings = [within[key] for within, key in object_generator.locations(mutated) if isinstance(within[key], dict | list)]
    for _ in range(rng.randrange(3) if mappings else 0):
        within = rng.choice(mappings)
        if isinstance(within, list):
            within.append({"$patch": rng.choice(DIRECTIVES), "name": "a"})
        elif rng.random() < 0.5:
            within["$patch"] = rng.choice(DIRECTIVES)
        else:
            prefix = rng.choice(("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"))
            key = rng.choice([*within, "containers", ""]) if prefix.endswith("/") else ""
            within[f"{prefix}{key}"] = rng.choice((["a"], [{"name": "a"}], [{"ip": 1}], "a", None, [None], [[]], list(within)))
    return mutated
