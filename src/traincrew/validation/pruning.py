"""What an API server does to a posted object before it validates it, by its structural schema.

In this order: fields that the schema does not know are dropped, nulls are dropped where the schema allows none, defaults are
filled in. All of it changes the object in place.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

from traincrew.model import suggestions
from traincrew.validation.findings import Path, Value

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
_NESTED = (dict, list)


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A field that the schema does not know."""

    path: Path
    known: tuple[str, ...]
    """The names that the schema knows in its place."""
    kept: bool
    """The schema keeps unknown fields here; elsewhere the API server drops them, or refuses them if asked to be strict."""

    @property
    def meant(self) -> str:
        """The known field that is most like it; empty if none is near."""
        return suggestions.nearest(str(self.path[-1]), self.known)

    def tell(self) -> str:
        name = str(self.path[-1])
        return f"unknown field {name!r}{suggestions.did_you_mean(name, self.known)}"


def unknown(value: Value, schema: Schema | None, path: Path = ()) -> Iterator[Unknown]:
    if schema is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            node = child(schema, key)
            if node is None:
                yield Unknown((*path, key), tuple(schema.get("properties", ())), bool(schema.get(PRESERVE)))
            elif isinstance(inner, _NESTED):
                yield from unknown(inner, node, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unknown(inner, schema.get("items"), (*path, index))


def child(schema: Schema, key: str) -> Schema | None:
    node: Schema | None = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    return node


def prune(value: Value, schema: Schema) -> None:
    if isinstance(value, dict):
        for key in list(value):
            node = child(schema, key)
            if node is None:
                if not schema.get(PRESERVE):
                    del value[key]
            elif isinstance(value[key], _NESTED):
                prune(value[key], node)
    elif isinstance(value, list) and "items" in schema:
        for inner in value:
            prune(inner, schema["items"])


def drop_nulls(value: Value, schema: Schema | None) -> None:
    """Nulls in lists stay, and are then of the wrong type; so do those that a default is to replace."""
    if schema is None:
        return
    if isinstance(value, dict):
        for key in list(value):
            node = child(schema, key)
            if value[key] is None and node is not None and not node.get("nullable") and node.get("default") is None:
                del value[key]
            elif isinstance(value[key], _NESTED):
                drop_nulls(value[key], node)
    elif isinstance(value, list):
        for inner in value:
            drop_nulls(inner, schema.get("items"))


def default(value: Value, schema: Schema | None) -> None:
    if schema is None:
        return
    if isinstance(value, dict):
        for key, node in schema.get("properties", {}).items():
            if "default" in node and value.get(key) is None:
                value[key] = copy.deepcopy(node["default"])
        for key, inner in value.items():
            if isinstance(inner, _NESTED):
                default(inner, child(schema, key))
    elif isinstance(value, list):
        for inner in value:
            default(inner, schema.get("items"))
