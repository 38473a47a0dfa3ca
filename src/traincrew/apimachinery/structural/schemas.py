"""Structural schemas, prepared for pruning, defaulting and validation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural import string_formats

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
VALIDATIONS = "x-kubernetes-validations"
_SILENT = {
    "type", "description", "title", "example", "default", "properties", "items", "additionalProperties", "nullable", "format",
    "externalDocs", PRESERVE, EMBEDDED, VALIDATIONS,
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
}  # fmt: skip
"""Keywords that are not constraints, or that are validated separately."""


_CLASSES_OF_TYPES: dict[tuple[str, ...], type] = {("string",): str, ("boolean",): bool, ("integer",): int}


class AllowedValues(NamedTuple):
    """The values of an enum by their types."""

    strings: frozenset[str]
    integers: frozenset[int]
    floats: frozenset[float]
    flags: frozenset[bool]
    others: list[Any]
    """Objects and lists."""

    @staticmethod
    def of(enum: list[Any]) -> AllowedValues:
        return AllowedValues(
            frozenset(each for each in enum if each.__class__ is str),
            frozenset(each for each in enum if each.__class__ is int),
            frozenset(each for each in enum if each.__class__ is float),
            frozenset(each for each in enum if each.__class__ is bool),
            [each for each in enum if each.__class__ is dict or each.__class__ is list],
        )


class Structure:
    """One node of a structural schema."""

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
        self._default_size = -1
        self.types = _types(schema)
        self.format_check = string_formats.validator(schema["format"]) if schema.get("format") else None
        self.pattern: str = schema.get("pattern") or ""
        self.enum: list[Any] | None = schema.get("enum") or None
        self._allowed: AllowedValues | None = None
        self.any_of, self.one_of, self.all_of = (
            [Structure(each) for each in schema.get(keyword, ())] for keyword in ("anyOf", "oneOf", "allOf")
        )
        self.negated = Structure(schema["not"]) if "not" in schema else None
        self.combined = bool(self.any_of or self.one_of or self.all_of or self.negated)
        self.list_type: str = schema.get("x-kubernetes-list-type", "")
        self.keys: list[str] = schema.get("x-kubernetes-list-map-keys", [])
        self.rules: Any = None
        """The compiled validation rules, set by `cel_rules`."""
        self.timed: Any = None
        """The functions that convert fields for rules, by their paths; set by `cel_rules`."""
        self.as_is: bool | None = None
        self._derive()

    def _derive(self) -> None:
        parts = [*self.properties.values(), *(part for part in (self.extra, self.items) if part is not None)]
        silent = set(self.schema) <= _SILENT and not self.format_check
        self.plain = _CLASSES_OF_TYPES.get(self.types) if silent else None
        """Values of exactly this class are valid."""
        self.trivial: bool = not self.types and silent and all(part.trivial for part in parts)
        """Every value is valid."""
        self.defaults = {key: node for key, node in self.properties.items() if node.default is not None}
        self.has_defaults: bool = bool(self.defaults) or any(part.has_defaults or part.default is not None for part in parts)
        self.has_embedded: bool = self.embedded or any(part.has_embedded for part in parts)
        self.has_lists: bool = self.list_type in ("set", "map") or any(part.has_lists for part in parts)
        self.has_rules: bool = bool(self.schema.get(VALIDATIONS)) or any(part.has_rules for part in (*parts, *self.all_of))

    def default_size(self) -> int:
        """Bytes of the default in JSON."""
        if self._default_size < 0:
            self._default_size = len(json.dumps(self.default))
        return self._default_size

    def allowed_values(self) -> AllowedValues:
        if self._allowed is None:
            self._allowed = AllowedValues.of(self.enum or [])
        return self._allowed

    def child(self, key: str) -> Structure | None:
        return self.properties.get(key) or self.extra

    def identity(self, item: Any) -> str:
        """The identity of an entry of a list map, by its keys."""
        keys = {key: item[key] for key in self.keys if key in item} if isinstance(item, dict) else {}
        return json.dumps(keys, sort_keys=True)

    def counterparts(self, old: Any) -> Callable[[Any], Any]:
        """Finds the old value of a list entry. Only list maps have one."""
        if self.list_type != "map" or not isinstance(old, list):
            return _none
        known = {self.identity(item): item for item in old}
        return lambda item: known.get(self.identity(item), NOTHING)


NOTHING: Any = object()
"""Marks the absence of an old value."""


def _none(item: Any) -> Any:
    return NOTHING


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


_known: dict[int, Structure] = {}


def of(schema: Schema) -> Structure:
    """The structure of a schema, built once. It keeps the schema alive, so that its identity is not reused."""
    structure = _known.get(id(schema))
    if structure is None:
        structure = _known[id(schema)] = Structure(schema)
    return structure


def forget(schema: Schema) -> None:
    """Drops the structure of a schema whose CRD is deleted."""
    _known.pop(id(schema), None)
