"""A custom resource's schema, prepared: what pruning, defaults and validation ask of every node, at hand."""

from __future__ import annotations

from typing import Any

from traincrew.embedded.served import Schema

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"


class Structure:
    """One node of a structural schema."""

    __slots__ = ("default", "defaults", "embedded", "extra", "items", "nullable", "preserve", "properties", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.properties = {key: Structure(inner) for key, inner in schema.get("properties", {}).items()}
        extra = schema.get("additionalProperties")
        self.extra = Structure(extra if isinstance(extra, dict) else {PRESERVE: True}) if extra else None
        self.items = Structure(schema["items"]) if isinstance(schema.get("items"), dict) else None
        self.preserve = bool(schema.get(PRESERVE))
        self.embedded = bool(schema.get(EMBEDDED))
        self.nullable = bool(schema.get("nullable"))
        self.default: Any = schema.get("default")
        self.defaults = {key: node for key, node in self.properties.items() if node.default is not None}

    def child(self, key: str) -> Structure | None:
        return self.properties.get(key) or self.extra


_known: dict[int, Structure] = {}


def of(schema: Schema) -> Structure:
    """Made once for every schema; the structure holds the schema, so that its identity stays its own."""
    found = _known.get(id(schema))
    if found is None:
        found = _known[id(schema)] = Structure(schema)
    return found


def forget(schema: Schema) -> None:
    """For the schemas of a definition that is gone."""
    _known.pop(id(schema), None)
