"""Lists of a strategic merge patch: how their items are merged and ordered."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from traincrew.apimachinery import go_format
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.patches.patch_errors import PatchRejected
from traincrew.apimachinery.patches.typed_schemas import METADATA
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

NO_ELEMENTS = "no elements in any of the given slices"
_DIRECTIVE = "$patch"


@dataclasses.dataclass(frozen=True)
class PatchSchema:
    """The fields of an object, by its schema: how each is patched."""

    schema: Schema

    @classmethod
    def of(cls, schema: Schema) -> PatchSchema:
        """The patch schema of an object. The schema may omit the metadata."""
        properties = schema.get("properties", {})
        if "properties" in properties.get("metadata", {}):
            return cls(schema)
        return cls({**schema, "properties": {**properties, "metadata": METADATA}})

    def field(self, name: str) -> PatchMeta:
        schema = self.schema.get("properties", {}).get(name)
        if schema is None:
            more = self.schema.get("additionalProperties")
            schema = more if isinstance(more, dict) else {}
        return PatchMeta(schema)

    def list_field(self, name: str) -> PatchMeta:
        if name not in self.schema.get("properties", {}) and not self._free:
            struct = self.schema.get("x-go-struct", "Unknown")
            raise bad_request(f'unable to find api field in struct {struct} for the json field "{name}"')
        meta = self.field(name)
        return PatchMeta(meta.schema, items=True)

    @property
    def _free(self) -> bool:
        return "additionalProperties" in self.schema or not self.schema.get("properties")


@dataclasses.dataclass(frozen=True)
class PatchMeta:
    schema: Schema
    items: bool = False

    @property
    def strategy(self) -> str:
        named = str(self.schema.get("x-kubernetes-patch-strategy", "")).split(",")
        return next((strategy for strategy in named if strategy != "retainKeys"), "")

    @property
    def key(self) -> str:
        return str(self.schema.get("x-kubernetes-patch-merge-key", ""))

    @property
    def fields(self) -> PatchSchema:
        return PatchSchema(self.schema.get("items", {}) if self.items else self.schema)


Merge = Callable[[Object, Object, PatchSchema], Object]


def merge_lists(original: list[Any], patch: list[Any], meta: PatchMeta, merge: Merge) -> list[Any]:
    if not original and not patch:
        return original
    kind = element_type(original, patch)
    if kind is not dict:
        merged = _unique([*original, *patch])
        ordered, others = split(merged, patch, "")
        return arrange((ordered, patch), (others, original), "")
    if not meta.key:
        raise bad_request("cannot merge lists without merge key for struct")
    original, patch = _apply_directives(original, patch, meta.key)
    merged = _merge_items(original, patch, meta, merge)
    ordered, others = split(merged, patch, meta.key)
    return arrange((ordered, patch), (others, original), meta.key)


def element_type(*lists: list[Any]) -> type | None:
    kind: type | None = None
    for element in (item for items in lists for item in items):
        if kind is None:
            kind = type(element)
            if kind is list:
                raise PatchRejected()
        elif type(element) is not kind:
            raise bad_request(f"list element types are not identical: {go_format.plain(list(lists))}")
    return kind


def _unique(values: list[Any]) -> list[Any]:
    return list({(type(value), value): value for value in values}.values())


def _apply_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Executes the items that are directives."""
    items, replaced, deleted = [], False, set[Any]()
    for item in patch:
        match item.get(_DIRECTIVE, _NONE):
            case directive if directive is _NONE:
                items.append(item)
            case "delete":
                _check_key(item, key)
                deleted.add(_identity(item[key]))
            case "replace":
                replaced = True
            case "merge":
                raise bad_request("merging lists cannot yet be specified in the patch")
            case other:
                raise bad_request(f"unknown patch type: {go_format.plain(other)} in map: {go_format.plain(item)}")
    if replaced:
        return items, []
    return [each for each in original if _identity(each.get(key, _NONE)) not in deleted] if deleted else original, items


_NONE: Any = object()


def _merge_items(original: list[Any], patch: list[Any], meta: PatchMeta, merge: Merge) -> list[Any]:
    merged = list(original)
    positions = Positions(merged, meta.key)
    for item in patch:
        _check_key(item, meta.key)
        at = positions.find(item[meta.key])
        if at < 0:
            positions.add(item[meta.key], len(merged))
            merged.append(item)
        else:
            merged[at] = merge(merged[at], item, meta.fields)
    return merged


def _check_key(item: Object, key: str) -> None:
    if key not in item:
        raise bad_request(f"map: {go_format.plain(item)} does not contain declared merge key: {key}")


def split(items: list[Any], by: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """The items that `by` contains, and the others."""
    named: list[Any] = []
    others: list[Any] = []
    positions = Positions(by, key)
    for item in items:
        if key and not isinstance(item, dict):
            raise bad_request(f"expected a map[string]interface {{}}, but received a {go_format.type_name(item)}")
        if key:
            _check_key(item, key)
        (named if positions.find(item[key] if key else item) >= 0 else others).append(item)
    return named, others


Ordered = tuple[list[Any], list[Any]]
"""Items and their order."""


def arrange(patched: Ordered, others: Ordered, key: str) -> list[Any]:
    """Both keep their order. Others keep their positions between the patched items as far as possible."""
    for each in (*patched[0], *patched[1], *others[0], *others[1]):
        if key and isinstance(each, dict):
            _check_key(each, key)
    server = Positions(others[1], key)
    right, left = deque(_sorted(*patched, key)), deque(_sorted(*others, key))
    arranged: list[Any] = []
    while left and right:
        here, there = server.find_item(left[0]), server.find_item(right[0])
        arranged.append((left if 0 <= here < there else right).popleft())
    return [*arranged, *left, *right]


def _sorted(items: list[Any], order: Sequence[Any], key: str) -> list[Any]:
    positions = Positions(order, key)

    def place(item: Any) -> int:
        at = positions.find_item(item)
        return at if at >= 0 else len(order)

    return sorted(items, key=place)


class Positions:
    """The first position of each item of a list, by the value of its merge key; without a key, by the item itself."""

    def __init__(self, items: Sequence[Any], key: str) -> None:
        self._key = key
        self._positions: dict[Any, int] = {}
        self._invalid = -1
        """The position of the first item that is not a map, if there is a key."""
        for at, each in enumerate(items):
            if key and not isinstance(each, dict):
                self._invalid = at
                break
            self.add(each.get(key, _NONE) if key else each, at)

    def add(self, value: Any, at: int) -> None:
        self._positions.setdefault(_identity(value), at)

    def find_item(self, item: Any) -> int:
        return self.find(item.get(self._key) if self._key else item)

    def find(self, value: Any) -> int:
        """-1: no item has the value."""
        at = self._positions.get(_identity(value), -1)
        if at < 0 <= self._invalid:
            raise bad_request(f"value for key {self._invalid} is not a map")
        return at


def _identity(value: Any) -> Any:
    """A hashable value that is equal for equal values."""
    if value.__class__ is dict or value.__class__ is list:
        return value.__class__, msgspec.json.encode(value, order="deterministic")
    return value
