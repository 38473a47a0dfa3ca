"""Strategic merge patch: lists are merged by the keys that the schema names; directives delete, replace and order."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import go_format
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.patches.strategic_lists import (
    NO_ELEMENTS,
    PatchSchema,
    arrange,
    element_type,
    merge_lists,
    split,
)
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"


def apply(document: Object, patch: Any, schema: Schema) -> Object:
    """The patched document. The arguments are not changed; the result shares parts with them."""
    if patch is None:
        patch = {}
    if not isinstance(patch, dict):
        json_type = go_format.json_type(patch)
        raise bad_request(f"json: cannot unmarshal {json_type} into Go value of type map[string]interface {{}}")
    return merge_maps(document, patch, PatchSchema.of(schema))


def merge_maps(original: Object, patch: Object, fields: PatchSchema) -> Object:
    if DIRECTIVE in patch:
        return _apply_directive(patch)
    merged, patch = dict(original), dict(patch)
    _retain(merged, patch)
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _order(merged, patch, key, fields)
    for key, value in patch.items():
        if key.startswith(_DELETE):
            _delete(merged, _directive_key(key, _DELETE, "invalid patch format of primitive list"), value, fields)
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_field(merged, key, value, fields)
    return merged


def _apply_directive(patch: Object) -> Object:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise bad_request(f"unknown patch type: {go_format.plain(other)} in map: {go_format.plain(patch)}")


def _retain(merged: Object, patch: Object) -> None:
    if RETAIN_KEYS not in patch:
        return
    kept = patch.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        raise bad_request("invalid patch format of retainKeys")
    kept_keys = {each for each in kept if isinstance(each, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE, _ORDER)) and key not in kept_keys:
            raise bad_request("invalid patch format of retainKeys")
    for key in [key for key in merged if key not in kept_keys]:
        del merged[key]


def _merge_field(merged: Object, key: str, value: Any, fields: PatchSchema) -> None:
    current = merged.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        meta = fields.field(key)
        merged[key] = value if meta.strategy == "replace" else merge_maps(current, value, meta.fields)
    elif isinstance(current, list) and isinstance(value, list):
        meta = fields.list_field(key)
        merged[key] = merge_lists(current, value, meta, merge_maps) if meta.strategy == "merge" else value
    else:
        bare = _without_directives(_without_nulls(value))
        if bare is _NOTHING:
            merged.pop(key, None)
        else:
            merged[key] = bare


def _delete(merged: Object, key: str, values: Any, fields: PatchSchema) -> None:
    current = merged.get(key)
    if values is None:
        merged.pop(key, None)
    elif isinstance(current, list) and isinstance(values, list):
        fields.list_field(key)
        if not current and not values:
            return
        if element_type(current, values) is not dict:
            deleted = set(values)
            merged[key] = [each for each in current if each not in deleted]
        else:
            merged[key] = merge_lists(current, values, fields.list_field(key), merge_maps)


def _order(merged: Object, patch: Object, directive: str, fields: PatchSchema) -> None:
    """Merges the list that the directive names in the given order, and removes it from the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise bad_request(f"expected a []interface {{}}, but received a {go_format.type_name(order)}")
    key = _directive_key(directive, _ORDER, "invalid patch format of setElementOrder list")
    current, values = _list_at(merged, key), _list_at(patch, key)
    meta = fields.list_field(key)
    _check_order(values or [], order, meta.key)
    if current is None and values is None:
        return
    if values is None:
        items = current or []
    elif current is None:
        items = [bare for item in values if (bare := _without_directives(item)) is not _NOTHING]
    elif meta.strategy == "merge":
        items = merge_lists(current, values, meta, merge_maps)
    else:
        items = values
    ordered, others = split(items, order, meta.key)
    kind = element_type(current or [], values or [])
    if kind is None:
        raise bad_request(NO_ELEMENTS)
    merged[key] = arrange((ordered, order), (others, current or []), meta.key if kind is dict else "")
    patch.pop(key, None)


def _list_at(parent: Object, key: str) -> list[Any] | None:
    if key not in parent:
        return None
    value = parent[key]
    if not isinstance(value, list):
        raise bad_request(
            f"expected a []interface {{}}, but received a {go_format.type_name(value).replace('<nil>', '%!s(<nil>)')}"
        )
    return value


def _check_order(values: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must be in the order list, in the same order."""
    if not values or not order:
        return
    awaited = [item for item in values if not (key and isinstance(item, dict) and item.get(DIRECTIVE) == "delete")]
    at = position = 0
    while at < len(awaited) and position < len(order):
        if isinstance(awaited[at], dict) and DIRECTIVE in awaited[at]:
            at += 1
            continue
        at += _same_item(awaited[at], order[position], key)
        position += 1
    if at < len(awaited):
        shown, expected = go_format.plain(values), go_format.plain(order)
        raise bad_request(f"The order in patch list:\n{shown}\n doesn't match {_ORDER} list:\n{expected}\n")


def _same_item(one: Any, other: Any, key: str) -> bool:
    if not key:
        return bool(one == other)
    for item in (one, other):
        if not isinstance(item, dict):
            raise bad_request(f"expected a map[string]interface {{}}, but received a {go_format.type_name(item)}")
        if key not in item:
            raise bad_request(f"map: {go_format.plain(item)} does not contain declared merge key: {key}")
    return bool(one[key] == other[key])


def _directive_key(directive: str, prefix: str, error: str) -> str:
    before, slash, key = directive.partition("/")
    if before != prefix or not slash:
        raise bad_request(error)
    return key


_NOTHING: Any = object()


def _without_directives(value: Any) -> Any:
    """The value without directives: they have no effect if the document lacks the field."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _NOTHING
        bared = {key: _without_directives(inner) for key, inner in value.items()}
        return {key: inner for key, inner in bared.items() if inner is not _NOTHING}
    if isinstance(value, list):
        return [bare for inner in value if (bare := _without_directives(inner)) is not _NOTHING]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
