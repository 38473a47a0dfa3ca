"""Merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import go_format
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.unstructured import Object


def apply(document: Object, patch: Any) -> Object:
    """The patched document. The arguments are not changed; the result shares parts with them."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        json_type = go_format.json_type(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_type} into Go value of type map[string]interface {{}}"
        )
    return _merge(document, patch)


def _merge(document: Object, patch: Object) -> Object:
    merged = dict(document)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            merged[key] = _merge(current, value)
        elif isinstance(current, dict):
            # As the API server does it: nulls within a list that takes an object's place are kept.
            merged[key] = value
        else:
            merged[key] = _without_nulls(value)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
