"""Fields of a document that its structural schema does not declare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import suggestions
from traincrew.apimachinery.findings import Path, Value
from traincrew.apimachinery.structural import schemas

Schema = dict[str, Any]

_NESTED = (dict, list)


@dataclasses.dataclass(frozen=True)
class UnknownField:
    """A field that the schema does not declare."""

    path: Path
    known: tuple[str, ...]
    """The fields that the schema declares in its place."""
    kept: bool
    """The schema preserves unknown fields here. Elsewhere the API server prunes them, or rejects them in strict validation."""

    @property
    def suggestion(self) -> str:
        """The most similar declared field; empty if there is none."""
        return suggestions.nearest(str(self.path[-1]), self.known)

    def message(self) -> str:
        name = str(self.path[-1])
        return f"unknown field {name!r}{suggestions.did_you_mean(name, self.known)}"


def find(value: Value, schema: Schema | None, path: Path = ()) -> Iterator[UnknownField]:
    if schema is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            node = child(schema, key)
            if node is None:
                yield UnknownField((*path, key), tuple(schema.get("properties", ())), bool(schema.get(schemas.PRESERVE)))
            elif isinstance(inner, _NESTED):
                yield from find(inner, node, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from find(inner, schema.get("items"), (*path, index))


def child(schema: Schema, key: str) -> Schema | None:
    node: Schema | None = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    return node


def misspelt(value: Value, schema: Schema, path: Path = ()) -> Iterator[UnknownField]:
    """Fields that the schema preserves, and that are probably misspelt."""
    for field in find(value, schema, path):
        if field.kept and field.suggestion:
            yield field
