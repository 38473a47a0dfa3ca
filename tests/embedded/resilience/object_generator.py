"""Objects of every served kind: generated from the schema or copied from a valid object, then mutated."""

from __future__ import annotations

import copy
import functools
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import yaml
from tests.embedded.resilience import fuzz_values

from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.unstructured import Object

NAMES = ("a", "a", "a", "a", "a", "b", "c", "default", "web.example", "kubernetes")
NAMESPACES = ("default",) * 12 + ("kubeflow", "other", "gone")
_EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


@functools.cache
def valid_objects() -> dict[tuple[str, str], list[Object]]:
    """Objects that the server accepts, by apiVersion and kind."""
    by_kind: dict[tuple[str, str], list[Object]] = {}
    paths = (pathlib.Path(__file__).with_name("valid_objects.yaml"), *sorted(_EXAMPLES.rglob("*.yaml")))
    for path in paths:
        for document in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader):
            if document and "kind" in document:
                by_kind.setdefault((document["apiVersion"], document["kind"]), []).append(document)
    return by_kind


def generate(rng: random.Random, info: ResourceInfo) -> Object:
    known = valid_objects().get((info.api_version, info.kind))
    if known and rng.random() < 0.8:
        obj = copy.deepcopy(rng.choice(known))
    else:
        built = from_schema(rng, info.schema, 6)
        obj = built if isinstance(built, dict) else {}
        obj |= {"kind": info.kind, "apiVersion": info.api_version}
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or rng.random() < 0.7:
        obj["metadata"] = {**(meta if isinstance(meta, dict) else {}), "name": rng.choice(NAMES)}
    return obj


def from_schema(rng: random.Random, schema: Schema, depth: int) -> Any:
    """A value that the schema allows."""
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice((1, "1", "10%", "500m", "1Gi", 80))
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return _mapping(rng, schema, depth)
        case "array":
            return [from_schema(rng, schema.get("items", {}), depth - 1) for _ in range(rng.randrange(3) if depth else 0)]
        case "string":
            return _string(rng, schema)
        case "integer" | "number":
            return rng.choice((0, 1, 2, 30, 80, 8080))
        case "boolean":
            return rng.random() < 0.5
    return fuzz_values.value(rng, 2)


def _string(rng: random.Random, schema: Schema) -> str:
    if "time" in schema.get("format", ""):
        return rng.choice(("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z"))
    return rng.choice((*NAMES, "TCP", "Always", "ReadWriteOnce", "v1", "Pod", "/data", "a=b", "YQ=="))


def _mapping(rng: random.Random, schema: Schema, depth: int) -> Object:
    if depth <= 0:
        return {}
    properties: dict[str, Schema] = schema.get("properties") or {}
    some = 0.6 if depth > 3 else 0.25
    chosen = [key for key in properties if key in schema.get("required", ()) or rng.random() < some]
    obj = {key: from_schema(rng, properties[key], depth - 1) for key in chosen}
    if isinstance(more := schema.get("additionalProperties"), dict):
        obj |= {rng.choice(NAMES): from_schema(rng, more, depth - 1) for _ in range(2)}
    return obj


def locations(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every dict and list inside the node, with each of its keys."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in list(pairs):
        yield node, key
        yield from locations(inner)


def mutated(rng: random.Random, obj: Object) -> Object:
    for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
        candidates = list(locations(obj))
        if not candidates:
            break
        _mutate(rng, *rng.choice(candidates))
    return obj


def _mutate(rng: random.Random, within: Any, key: Any) -> None:
    match rng.randrange(6):
        case 0:
            del within[key]
        case 1 if isinstance(within, dict):
            within[rng.choice(fuzz_values.KEYS)] = within.pop(key)
        case 2 if isinstance(within, list):
            within.append(copy.deepcopy(within[key]))
        case 3:
            within[key] = [within[key]] if rng.random() < 0.5 else {"a": within[key]}
        case _:
            within[key] = fuzz_values.value(rng)
