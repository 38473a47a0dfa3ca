"""Objects of every kind that is served: made after its schema or taken from a good one, then spoiled a little."""

from __future__ import annotations

import copy
import functools
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import yaml
from tests.embedded.resilience import nonsense

from traincrew.apimachinery.resource_info import Object, ResourceInfo, Schema

NAMES = ("a", "a", "a", "a", "a", "b", "c", "default", "web.example", "kubernetes")
NAMESPACES = ("default",) * 12 + ("kubeflow", "other", "gone")
_EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


@functools.cache
def good() -> dict[tuple[str, str], list[Object]]:
    """Objects that are accepted as they are, by apiVersion and kind."""
    found: dict[tuple[str, str], list[Object]] = {}
    paths = (pathlib.Path(__file__).with_name("documents.yaml"), *sorted(_EXAMPLES.rglob("*.yaml")))
    for path in paths:
        for document in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader):
            if document and "kind" in document:
                found.setdefault((document["apiVersion"], document["kind"]), []).append(document)
    return found


def document(chance: random.Random, served: ResourceInfo) -> Object:
    known = good().get((served.api_version, served.kind))
    if known and chance.random() < 0.8:
        made = copy.deepcopy(chance.choice(known))
    else:
        found = after(chance, served.schema, 6)
        made = found if isinstance(found, dict) else {}
        made |= {"kind": served.kind, "apiVersion": served.api_version}
    meta = made.get("metadata")
    if not isinstance(meta, dict) or chance.random() < 0.7:
        made["metadata"] = {**(meta if isinstance(meta, dict) else {}), "name": chance.choice(NAMES)}
    return made


def after(chance: random.Random, schema: Schema, depth: int) -> Any:
    """A value that the schema allows, as far as it says so."""
    if schema.get("x-kubernetes-int-or-string"):
        return chance.choice((1, "1", "10%", "500m", "1Gi", 80))
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return _mapping(chance, schema, depth)
        case "array":
            return [after(chance, schema.get("items", {}), depth - 1) for _ in range(chance.randrange(3) if depth else 0)]
        case "string":
            return _string(chance, schema)
        case "integer" | "number":
            return chance.choice((0, 1, 2, 30, 80, 8080))
        case "boolean":
            return chance.random() < 0.5
    return nonsense.value(chance, 2)


def _string(chance: random.Random, schema: Schema) -> str:
    if "time" in schema.get("format", ""):
        return chance.choice(("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z"))
    return chance.choice((*NAMES, "TCP", "Always", "ReadWriteOnce", "v1", "Pod", "/data", "a=b", "YQ=="))


def _mapping(chance: random.Random, schema: Schema, depth: int) -> Object:
    if depth <= 0:
        return {}
    properties: dict[str, Schema] = schema.get("properties") or {}
    some = 0.6 if depth > 3 else 0.25
    wanted = [key for key in properties if key in schema.get("required", ()) or chance.random() < some]
    made = {key: after(chance, properties[key], depth - 1) for key in wanted}
    if isinstance(more := schema.get("additionalProperties"), dict):
        made |= {chance.choice(NAMES): after(chance, more, depth - 1) for _ in range(2)}
    return made


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in it with every key of it."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in list(pairs):
        yield node, key
        yield from places(inner)


def spoiled(chance: random.Random, obj: Object) -> Object:
    for _ in range(chance.choice((0, 1, 1, 1, 2, 5))):
        found = list(places(obj))
        if not found:
            break
        _spoil(chance, *chance.choice(found))
    return obj


def _spoil(chance: random.Random, within: Any, key: Any) -> None:
    match chance.randrange(6):
        case 0:
            del within[key]
        case 1 if isinstance(within, dict):
            within[chance.choice(nonsense.KEYS)] = within.pop(key)
        case 2 if isinstance(within, list):
            within.append(copy.deepcopy(within[key]))
        case 3:
            within[key] = [within[key]] if chance.random() < 0.5 else {"a": within[key]}
        case _:
            within[key] = nonsense.value(chance)
