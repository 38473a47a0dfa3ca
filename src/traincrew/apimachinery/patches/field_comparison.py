"""The field sets of objects, and comparisons of two objects."""

from __future__ import annotations

import dataclasses
from typing import Any

from traincrew.apimachinery import json_equality
from traincrew.apimachinery.patches import field_sets, list_items
from traincrew.apimachinery.patches.field_sets import EMPTY, FIELD, Fields
from traincrew.apimachinery.patches.typed_schemas import ATOMIC, LIST, MAP, TypeDef
from traincrew.apimachinery.unstructured import Object


@dataclasses.dataclass(frozen=True)
class Comparison:
    added: Fields
    modified: Fields
    removed: Fields

    def without(self, fields: Fields) -> Comparison:
        if not fields:
            return self
        return Comparison(*(field_sets.recursive_difference(each, fields) for each in (self.added, self.modified, self.removed)))

    @property
    def changed(self) -> Fields:
        return field_sets.union(self.modified, self.added)


def compare(before: Object, after: Object, type_def: TypeDef) -> Comparison:
    diff = _FieldDiff({}, {}, {})
    _compare_maps(before, after, type_def, diff)
    return Comparison(diff.added, diff.modified, diff.removed)


@dataclasses.dataclass(slots=True)
class _FieldDiff:
    """The differences below one field."""

    added: Fields
    modified: Fields
    removed: Fields


def to_field_set(document: Object, type_def: TypeDef) -> Fields:
    """The field set of an applied configuration."""
    return _value_fields(document, type_def) or EMPTY


def _value_fields(value: Any, type_def: TypeDef) -> Fields | None:
    kind = type_def.kind(value)
    if kind == MAP:
        return FIELD if type_def.atomic_map else _map_fields(value, type_def) if isinstance(value, dict) else None
    if kind == LIST:
        return FIELD if type_def.atomic_list else _list_fields(value, type_def) if isinstance(value, list) else None
    return FIELD


def _map_fields(value: Object, type_def: TypeDef) -> Fields | None:
    fields = {}
    for name, each in value.items():
        below = _value_fields(each, type_def.field(name) or ATOMIC)
        if each is None or (not each and isinstance(each, dict)) or not type_def.declares(name):
            below = field_sets.member(below or FIELD)
        if below is not None:
            fields[f"f:{name}"] = below
    return fields or None


def _list_fields(value: list[Any], type_def: TypeDef) -> Fields | None:
    fields = {}
    for name, alike in list_items.group_by_element(value, type_def).items():
        fields[name] = FIELD if len(alike) > 1 else field_sets.member(_value_fields(alike[0], type_def.items) or FIELD)
    return fields or None


def all_fields(value: Any, type_def: TypeDef) -> Fields:
    """All fields of a value, with the value itself."""
    kind = type_def.kind(value)
    fields = {}
    if kind == MAP and not type_def.atomic_map and isinstance(value, dict):
        fields = {f"f:{name}": all_fields(each, type_def.field(name) or ATOMIC) for name, each in value.items()}
    elif kind == LIST and not type_def.atomic_list and isinstance(value, list):
        for name, alike in list_items.group_by_element(value, type_def).items():
            fields[name] = FIELD if len(alike) > 1 else all_fields(alike[0], type_def.items)
    return field_sets.member(fields)


def _compare_values(before: Any, after: Any, type_def: TypeDef, diff: _FieldDiff) -> bool:
    """Whether the value itself was modified. Differences below it are added to `diff`."""
    was, now = type_def.kind(before), type_def.kind(after)
    modified = _compare_kind(was, before, after, type_def, diff) if was != now else False
    return _compare_kind(now, before, after, type_def, diff) or modified


def _compare_kind(kind: str, before: Any, after: Any, type_def: TypeDef, diff: _FieldDiff) -> bool:
    if kind == MAP and not type_def.atomic_map:
        here, there = before if isinstance(before, dict) else None, after if isinstance(after, dict) else None
        if here or there:
            _compare_maps(here or {}, there or {}, type_def, diff)
            return False
    elif kind == LIST and not type_def.atomic_list:
        rows, lines = before if isinstance(before, list) else None, after if isinstance(after, list) else None
        if rows or lines:
            _compare_lists(rows or [], lines or [], type_def, diff)
            return False
    return not json_equality.values_equal(before, after)


def _compare_maps(before: Object, after: Object, type_def: TypeDef, diff: _FieldDiff) -> None:
    for name, value in after.items():
        if name not in before:
            diff.added[f"f:{name}"] = all_fields(value, type_def.field(name) or ATOMIC)
        elif not json_equality.quickly_equal(before[name], value):
            _compare_child(f"f:{name}", before[name], value, type_def.field(name) or ATOMIC, diff)
    for name, value in before.items():
        if name not in after:
            diff.removed[f"f:{name}"] = all_fields(value, type_def.field(name) or ATOMIC)


def _compare_child(element: str, before: Any, after: Any, type_def: TypeDef, diff: _FieldDiff) -> None:
    inner = _FieldDiff({}, {}, {})
    modified = _compare_values(before, after, type_def, inner)
    if inner.added:
        diff.added[element] = inner.added
    if inner.removed:
        diff.removed[element] = inner.removed
    if modified or inner.modified:
        diff.modified[element] = field_sets.member(inner.modified) if modified else inner.modified


def _compare_lists(before: list[Any], after: list[Any], type_def: TypeDef, diff: _FieldDiff) -> None:
    here, there = list_items.group_by_element(before, type_def), list_items.group_by_element(after, type_def)
    for name in {**here, **there}:
        was, now = here.get(name, ()), there.get(name, ())
        if len(was) == 1 and len(now) == 1:
            if not json_equality.quickly_equal(was[0], now[0]):
                _compare_child(name, was[0], now[0], type_def.items, diff)
        elif len(was) > 1 and len(now) > 1:
            if not json_equality.values_equal(was, now):
                diff.modified[name] = FIELD
        else:
            # Items with the same path element are owned as one, with nothing below.
            if now:
                diff.added[name] = all_fields(now[0], type_def.items) if len(now) == 1 else FIELD
            if was:
                diff.removed[name] = all_fields(was[0], type_def.items) if len(was) == 1 else FIELD
