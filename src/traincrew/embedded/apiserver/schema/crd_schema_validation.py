"""Validation of a CRD's schema beyond its structure: keywords, list types, validation rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural.schemas import EMBEDDED, PRESERVE, VALIDATIONS
from traincrew.apimachinery.unstructured import Object

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REASONS = (field_errors.DUPLICATE, field_errors.FORBIDDEN, field_errors.INVALID, field_errors.REQUIRED)
_LIST_TYPE, _MAP_KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_META = ("metadata", "kind", "apiVersion")


def check(schema: Schema, path: str, root: bool = True, no_defaults: str = "") -> Iterator[FieldError]:
    yield from _keywords(schema, path, no_defaults)
    extra = schema.get("additionalProperties")
    if extra is not None:
        if schema.get("properties") and extra is not True:
            yield field_errors.forbidden(
                f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
            )
        if isinstance(extra, dict):
            yield from check(extra, f"{path}.additionalProperties", False, no_defaults)
    for key, inner in (schema.get("properties") or {}).items():
        within = f"in top-level {key}" if root and key in _META else no_defaults
        yield from check(inner, f"{path}.properties[{key}]", False, within)
    if isinstance(schema.get("not"), dict):
        yield from check(schema["not"], f"{path}.not", False, no_defaults)
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(keyword) or ()):
            yield from check(inner, f"{path}.{keyword}[{index}]", False, no_defaults)
    if isinstance(schema.get("items"), dict):
        yield from check(schema["items"], f"{path}.items", False, no_defaults)
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    yield from _map_keys(schema, path)
    for index, rule in enumerate(schema.get(VALIDATIONS) or ()):
        yield from _rule(rule, f"{path}.{VALIDATIONS}[{index}]")


def is_foreign(schema: Schema) -> bool:
    """Whether it uses keywords that structural schemas do not have: then its structure is not validated."""
    if any(schema.get(keyword) for keyword in (*_UNSUPPORTED, "$schema")) or schema.get(PRESERVE) is False:
        return True
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, list):
        return True
    parts = [*(schema.get("properties") or {}).values(), *(part for part in (items, extra) if isinstance(part, dict))]
    return any(is_foreign(part) for part in parts)


def _keywords(schema: Schema, path: str, no_defaults: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield field_errors.not_supported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and no_defaults:
        yield field_errors.forbidden(f"{path}.default", f"must not be set {no_defaults}")
    for keyword in _UNSUPPORTED:
        if schema.get(keyword) is not None and schema[keyword] not in ("", {}):
            yield field_errors.forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
    if kind == "null":
        yield field_errors.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield field_errors.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if no_defaults and schema.get(EMBEDDED):
        yield field_errors.forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield field_errors.forbidden(f"{path}.uniqueItems", message)
    if schema.get(PRESERVE) is False:
        yield field_errors.invalid(f"{path}.{PRESERVE}", False, "must be true or undefined")


def _typed(schema: Schema, path: str, expected: str, keyword: str) -> Iterator[FieldError]:
    kind, message = schema.get("type", ""), f"must be {expected} if {keyword} is specified"
    if kind != expected:
        yield field_errors.invalid(f"{path}.type", kind, message) if kind else field_errors.required(f"{path}.type", message)


def _map_type(schema: Schema, path: str) -> Iterator[FieldError]:
    map_type = schema.get(_MAP_TYPE)
    if map_type is None:
        return
    yield from _typed(schema, path, "object", _MAP_TYPE)
    if map_type not in ("atomic", "granular"):
        yield field_errors.not_supported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular"))


def _list_type(schema: Schema, path: str) -> Iterator[FieldError]:
    list_type = schema.get(_LIST_TYPE)
    if list_type is None:
        return
    yield from _typed(schema, path, "array", _LIST_TYPE)
    items = schema.get("items")
    if schema.get("type") == "array" and list_type == "set" and isinstance(items, dict):
        message = f"must be atomic as item of a list with {_LIST_TYPE}=set"
        inner = items.get(_LIST_TYPE)
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield field_errors.invalid(f"{path}.items.{_LIST_TYPE}", inner, message)
        if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
            yield _invalid(f"{path}.items.{_MAP_TYPE}", inner, message)
    if list_type not in ("atomic", "set", "map"):
        yield field_errors.not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))


def _map_keys(schema: Schema, path: str) -> Iterator[FieldError]:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_MAP_KEYS) or [], schema.get("items")
    if keys and kind != "map":
        message = f"must be map if {_MAP_KEYS} is non-empty"
        yield (
            field_errors.invalid(f"{path}.{_LIST_TYPE}", kind, message)
            if kind
            else field_errors.required(f"{path}.{_LIST_TYPE}", message)
        )
    if kind == "map":
        if not keys:
            yield field_errors.required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
        if items is None:
            yield field_errors.required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
        elif isinstance(items, dict):
            yield from _map_items(items, keys, path)
    if kind in ("set", "map") and isinstance(items, dict):
        if items.get("nullable"):
            yield field_errors.forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {kind}")
        if kind == "map":
            yield from _key_properties(items, keys, path)


def _map_items(items: Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    if items.get("type") != "object":
        message = f"must be object if parent array's {_LIST_TYPE} is map"
        yield field_errors.invalid(f"{path}.items.type", items.get("type", ""), message)
        return
    known = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in known:
            yield _invalid(f"{path}.{_MAP_KEYS}", keys, "entries must all be names of item properties")
        elif known[key].get("type") in ("array", "object"):
            message = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield field_errors.invalid(f"{path}.items.properties[{key}].type", "object", message)
        if key in keys[:index]:
            yield _invalid(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries")


def _key_properties(items: Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    for key in keys:
        key_schema = (items.get("properties") or {}).get(key)
        key_path = f"{path}.items.properties[{key}]"
        if key_schema is None:
            continue
        if key not in (items.get("required") or ()) and key_schema.get("default") is None:
            message = f"this property is in {_MAP_KEYS}, so it must have a default or be a required property"
            yield field_errors.required(f"{key_path}.default", message)
        if key_schema.get("nullable"):
            yield field_errors.forbidden(f"{key_path}.nullable", f"this property is in {_MAP_KEYS}, so it cannot be nullable")


def _rule(rule: Object, path: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not text:
        yield field_errors.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield field_errors.invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield field_errors.invalid(f"{path}.message", message, "message must not contain line breaks")
    elif "\n" in text and not message.strip():
        yield field_errors.required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield field_errors.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") and rule["reason"] not in _REASONS:
        yield field_errors.not_supported(f"{path}.reason", rule["reason"], _REASONS)
    field_path = rule.get("fieldPath", "")
    if field_path and not field_path.startswith((".", "[")):
        yield field_errors.invalid(f"{path}.fieldPath", field_path, "fieldPath must be a valid path")


def _invalid(path: str, value: Any, detail: str) -> FieldError:
    shown = go_format.field_value(value) if not isinstance(value, list) else _strings(value)
    return FieldError(field_errors.INVALID, path, f"Invalid value: {shown}: {detail}")


def _strings(values: list[str]) -> str:
    return f"[]string{{{', '.join(map(go_format.quote, values))}}}"
