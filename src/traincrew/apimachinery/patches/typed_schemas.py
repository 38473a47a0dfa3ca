"""The types of a schema: whether values are merged atomically, by fields or by keys of items."""

from __future__ import annotations

import collections
import threading
from typing import Any

from traincrew.apimachinery.resource_info import Schema

MAP, LIST, SCALAR = "map", "list", "scalar"
NUMERIC, STRING, BOOLEAN, UNTYPED = "numeric", "string", "boolean", "untyped"

_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_TIME: Schema = {"type": "string", "format": "date-time"}
_NAMES = ("generateName", "name", "namespace", "resourceVersion", "selfLink", "uid")
METADATA: Schema = {
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "creationTimestamp": _TIME,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "deletionTimestamp": _TIME,
        "finalizers": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
        "generation": {"type": "integer"},
        "labels": _TEXTS,
        "managedFields": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"},
        "ownerReferences": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["apiVersion", "kind", "name", "uid"],
                "properties": {
                    **{name: {"type": "string"} for name in ("apiVersion", "kind", "name", "uid")},
                    **{name: {"type": "boolean"} for name in ("blockOwnerDeletion", "controller")},
                },
                "x-kubernetes-map-type": "atomic",
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "uid",
        },
        **{name: {"type": "string"} for name in _NAMES},
    },
}
_OBJECT = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": METADATA}


class TypeDef:
    """The type of one node of a schema. Types of children are resolved lazily: schemas may be cyclic."""

    __slots__ = (
        "_below", "_fields", "_item", "_items", "_more", "_preserve",
        "atomic_list", "atomic_map", "defaults", "keys", "kinds", "only", "scalar",
    )  # fmt: skip

    def __init__(self, schema: Schema, preserve: bool = False, fields: Schema | None = None) -> None:
        self._preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind = schema.get("type", "")
        self.scalar = _scalar(schema)
        self.kinds = _kinds(kind, schema)
        self.only = self.kinds[0] if len(self.kinds) == 1 else ""
        self._fields: Schema = {**schema.get("properties", {}), **(fields or _embedded(schema))}
        self._more = schema.get("additionalProperties")
        self._items = schema.get("items")
        self._below: dict[str | None, TypeDef | None] = {}
        self._item: TypeDef | None = None
        self.atomic_map = schema.get("x-kubernetes-map-type") == "atomic"
        self.keys, self.atomic_list = _list_relation(schema)
        properties = (self._items or {}).get("properties", {})
        self.defaults = {key: properties[key]["default"] for key in self.keys if "default" in properties.get(key, {})}

    def kind(self, value: Any) -> str:
        """The kind of a value; if it has none of the expected kinds, the one that reports the error."""
        if self.only:
            return self.only
        kind = MAP if isinstance(value, dict) else LIST if isinstance(value, list) else SCALAR
        return kind if value is not None and kind in self.kinds else self.kinds[0]

    def declares(self, name: str) -> bool:
        return name in self._fields

    @property
    def undeclared(self) -> bool:
        """Whether the type is a map without any declared fields."""
        return not self._fields and self.field("") is DEDUCED

    def field(self, name: str) -> TypeDef | None:
        """None: the field is not allowed."""
        key = name if name in self._fields else None
        if key not in self._below:
            self._below[key] = self._other() if key is None else TypeDef(self._fields[key], self._preserve)
        return self._below[key]

    def _other(self) -> TypeDef | None:
        if isinstance(self._more, dict):
            return TypeDef(self._more, self._preserve)
        free = self._more is True or (self._more is None and (self._preserve or not self._fields))
        return DEDUCED if free else None

    @property
    def items(self) -> TypeDef:
        if self._item is None:
            self._item = TypeDef(self._items, self._preserve) if self._items is not None else ATOMIC
        return self._item


def _kinds(kind: str, schema: Schema) -> tuple[str, ...]:
    if kind == "object":
        return (MAP,)
    if kind == "array":
        return (LIST,)
    if kind or schema.get("x-kubernetes-int-or-string") or "oneOf" in schema or "anyOf" in schema:
        return (SCALAR,)
    return (MAP, SCALAR, LIST)


def _scalar(schema: Schema) -> str:
    match schema.get("type"):
        case "integer" | "number":
            return NUMERIC
        case "boolean":
            return BOOLEAN
        case "string" if schema.get("format", "") in ("", "byte") and not schema.get("x-kubernetes-int-or-string"):
            return STRING
    return UNTYPED


def _list_relation(schema: Schema) -> tuple[tuple[str, ...], bool]:
    """The keys of the items of a list, and whether the list is atomic. Neither: the list is a set."""
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return tuple(schema.get("x-kubernetes-list-map-keys", ())), False
        case "set":
            return (), False
        case None if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
            key = schema.get("x-kubernetes-patch-merge-key")
            return ((key,) if key else ()), False
    return (), True


def _embedded(schema: Schema) -> Schema:
    return _OBJECT if schema.get("x-kubernetes-embedded-resource") else {}


ATOMIC = TypeDef({"x-kubernetes-map-type": "atomic"})
DEDUCED = TypeDef({})
ATOMIC._below[None] = ATOMIC

_CACHE_SIZE = 512
_known: collections.OrderedDict[int, tuple[Schema, TypeDef]] = collections.OrderedDict()
_lock = threading.Lock()


def type_of(schema: Schema) -> TypeDef:
    """The type of the objects of a schema. The schema may omit the metadata."""
    cached = _known.get(id(schema))
    if cached is not None and cached[0] is schema:
        return cached[1]
    type_def = TypeDef(schema, fields=_OBJECT)
    with _lock:
        _known[id(schema)] = schema, type_def
        if len(_known) > _CACHE_SIZE:
            _known.popitem(last=False)
    return type_def
