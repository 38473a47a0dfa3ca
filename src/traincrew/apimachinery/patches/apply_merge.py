"""Merges an applied configuration into a live object, and removes fields from an object."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.patches import field_sets, list_items
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.typed_schemas import ATOMIC, LIST, MAP, SCALAR, TypeDef
from traincrew.apimachinery.unstructured import Object


def merge(live: Object, applied: Object, type_def: TypeDef) -> Object:
    """The merged object. The arguments are not changed; the result shares parts with them."""
    return _merge_maps(live, applied, type_def) or {}


_NOTHING: Any = object()


def _merge_values(live: Any, applied: Any, type_def: TypeDef) -> Any:
    kind = type_def.kind(applied)
    if kind == MAP and not type_def.atomic_map:
        live_map, applied_map = live if isinstance(live, dict) else None, applied if isinstance(applied, dict) else None
        if live_map or applied_map:
            return _merge_maps(live_map or {}, applied_map or {}, type_def) or _NOTHING
    elif kind == LIST and not type_def.atomic_list:
        live_list, applied_list = live if isinstance(live, list) else None, applied if isinstance(applied, list) else None
        if live_list or applied_list:
            return _merge_lists(live_list or [], applied_list or [], type_def) or _NOTHING
    return applied


def _merge_maps(live: Object, applied: Object, type_def: TypeDef) -> Object:
    merged = dict(live)
    for name, value in applied.items():
        if name in live:
            value = _merge_values(live[name], value, type_def.field(name) or ATOMIC)
        if value is _NOTHING:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _merge_lists(live: list[Any], applied: list[Any], type_def: TypeDef) -> list[Any]:
    """Applied items keep their order; other live items keep their positions between them."""
    live_elements = [list_items.path_element(item, type_def) for item in live]
    applied_elements = [list_items.path_element(item, type_def) for item in applied]
    live_by_element, applied_by_element = _unique(live_elements, live), dict(zip(applied_elements, applied, strict=True))
    shared = iter([name for name in applied_elements if name in live_by_element])
    awaited, merged, done = next(shared, None), [], set()
    left = right = 0
    while left < len(live_elements) or right < len(applied_elements):
        if left < len(live_elements) and right < len(applied_elements):
            name = live_elements[left]
            if name != applied_elements[right] and name in applied_by_element and awaited is not None and awaited != name:
                left += 1  # merged later, at its position in the configuration
                continue
        if left < len(live_elements) and not (right < len(applied_elements) and live_elements[left] == applied_elements[right]):
            name = live_elements[left]
            if name not in applied_by_element:
                merged.append(live[left])
                left += 1
                continue
            if name in done:
                left += 1
        elif left < len(live_elements):
            left += 1
        if right < len(applied_elements):
            name = applied_elements[right]
            done.add(name)
            merged.append(
                _merge_values(live_by_element[name], applied_by_element[name], type_def.items)
                if name in live_by_element
                else applied_by_element[name]
            )
            right += 1
            if name == awaited:
                awaited = next(shared, None)
    return [item for item in merged if item is not _NOTHING]


def _unique(names: list[str], values: list[Any]) -> dict[str, Any]:
    """The values by name; None for names that occur several times: those are not merged."""
    unique: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        unique[name] = None if name in unique else value
    return unique


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
    left = {}
    for name, inner in value.items():
        node = fields.get(f"f:{name}")
        if node is None:
            left[name] = inner
        elif not field_sets.is_member(node):
            left[name] = remove_fields(inner, node, type_def.field(name) or ATOMIC)
    return left


def _remove_list_items(value: list[Any], fields: Fields, type_def: TypeDef) -> list[Any]:
    left = []
    for item in value:
        node = fields.get(list_items.path_element(item, type_def))
        if node is None:
            left.append(item)
        elif not field_sets.is_member(node):
            left.append(remove_fields(item, node, type_def.items))
    return left


def with_declared_parents(fields: Fields, type_def: TypeDef | None) -> Fields:
    """The set with the declared parents of its fields."""
    result: Fields = {}
    for key, node in fields.items():
        if not node:
            result[key] = node
        elif key[0] == "f" and type_def is not None and MAP in type_def.kinds:
            below = with_declared_parents(node, type_def.field(key[2:]))
            result[key] = field_sets.member(below) if type_def.declares(key[2:]) else below
        else:
            listed = type_def.items if key[0] == "k" and type_def is not None and LIST in type_def.kinds else None
            result[key] = with_declared_parents(node, listed)
    return result
