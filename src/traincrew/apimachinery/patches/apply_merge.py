"""Merges an applied configuration into a live object, and removes fields from an object."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.patches import field_sets, list_items
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.typed_schemas import ATOMIC, LIST, MAP, SCALAR, TypeDef
from traincrew.apimachinery.resource_info import Object


def merge(live: Object, applied: Object, type_def: TypeDef) -> Object:
    """The merged object. The arguments are not changed; the result shares parts with them."""
    return _merge_maps(live, applied, type_def) or {}


_NOTHING: Any = object()


def _merge_values(live: Any, applied: Any, type_def: TypeDef) -> Any:
    kind = type_def.kind(applied)
    if kind == MAP and not type_def.atomic_map:
        here, there = live if isinstance(live, dict) else None, applied if isinstance(applied, dict) else None
        if here or there:
            return _merge_maps(here or {}, there or {}, type_def) or _NOTHING
    elif kind == LIST and not type_def.atomic_list:
        rows, lines = live if isinstance(live, list) else None, applied if isinstance(applied, list) else None
        if rows or lines:
            return _merge_lists(rows or [], lines or [], type_def) or _NOTHING
    return applied


def _merge_maps(live: Object, applied: Object, type_def: TypeDef) -> Object:
    found = dict(live)
    for name, value in applied.items():
        if name in live:
            value = _merge_values(live[name], value, type_def.field(name) or ATOMIC)
        if value is _NOTHING:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def _merge_lists(live: list[Any], applied: list[Any], type_def: TypeDef) -> list[Any]:
    """Applied items keep their order; other live items keep their places between them."""
    here = [list_items.path_element(each, type_def) for each in live]
    there = [list_items.path_element(each, type_def) for each in applied]
    rows, lines = _unique(here, live), dict(zip(there, applied, strict=True))
    shared = iter([name for name in there if name in rows])
    awaited, found, done = next(shared, None), [], set()
    left = right = 0
    while left < len(here) or right < len(there):
        if left < len(here) and right < len(there):
            name = here[left]
            if name != there[right] and name in lines and awaited is not None and awaited != name:
                left += 1  # it comes later, where the configuration has it
                continue
        if left < len(here) and not (right < len(there) and here[left] == there[right]):
            name = here[left]
            if name not in lines:
                found.append(live[left])
                left += 1
                continue
            if name in done:
                left += 1
        elif left < len(here):
            left += 1
        if right < len(there):
            name = there[right]
            done.add(name)
            found.append(_merge_values(rows[name], lines[name], type_def.items) if name in rows else lines[name])
            right += 1
            if name == awaited:
                awaited = next(shared, None)
    return [each for each in found if each is not _NOTHING]


def _unique(names: list[str], values: list[Any]) -> dict[str, Any]:
    """The values by name; None for names that occur several times: those are not merged."""
    found: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        found[name] = None if name in found else value
    return found


def remove_fields(value: Any, fields: Fields, type_def: TypeDef) -> Any:
    """The value without these fields; None if nothing is left."""
    kind = type_def.kind(value)
    if kind == SCALAR:
        return value
    if not value or (type_def.atomic_map if kind == MAP else type_def.atomic_list):
        return None
    if kind == MAP and isinstance(value, dict):
        return _remove_map_fields(value, fields, type_def) or None
    return (_remove_list_items(value, fields, type_def) or None) if kind == LIST and isinstance(value, list) else None


def _remove_map_fields(value: Object, fields: Fields, type_def: TypeDef) -> Object:
    found = {}
    for name, each in value.items():
        node = fields.get(f"f:{name}")
        if node is None:
            found[name] = each
        elif not field_sets.is_member(node):
            found[name] = remove_fields(each, node, type_def.field(name) or ATOMIC)
    return found


def _remove_list_items(value: list[Any], fields: Fields, type_def: TypeDef) -> list[Any]:
    found = []
    for each in value:
        node = fields.get(list_items.path_element(each, type_def))
        if node is None:
            found.append(each)
        elif not field_sets.is_member(node):
            found.append(remove_fields(each, node, type_def.items))
    return found


def with_declared_parents(fields: Fields, type_def: TypeDef | None) -> Fields:
    """The set with the declared parents of its fields."""
    found: Fields = {}
    for key, node in fields.items():
        if not node:
            found[key] = node
        elif key[0] == "f" and type_def is not None and MAP in type_def.kinds:
            below = with_declared_parents(node, type_def.field(key[2:]))
            found[key] = field_sets.member(below) if type_def.declares(key[2:]) else below
        else:
            listed = type_def.items if key[0] == "k" and type_def is not None and LIST in type_def.kinds else None
            found[key] = with_declared_parents(node, listed)
    return found
