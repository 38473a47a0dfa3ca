"""Whole resources inside a custom resource (x-kubernetes-embedded-resource): type and object metadata."""

from __future__ import annotations

import re
from typing import Any

from traincrew.apimachinery import field_errors, go_format, object_meta_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.structural.schemas import Structure
from traincrew.apimachinery.unstructured import Object

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters "
    "or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex "
    "used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def check(value: Any, node: Structure, path: str = "") -> list[FieldError]:
    errors = field_errors.FieldErrors()
    if node.has_embedded:
        _walk(value, node, path, errors)
    return errors


def _walk(value: Any, node: Structure, path: str, errors: list[FieldError]) -> None:
    if not node.has_embedded:
        return
    if value.__class__ is dict:
        if node.embedded:
            _check_resource(value, path, errors)
        for key, inner in value.items():
            child = node.child(key)
            if child is not None:
                named = key in node.properties
                _walk(inner, child, (f"{path}.{key}" if path else key) if named else f"{path}[{key}]", errors)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            _walk(inner, node.items, f"{path}[{index}]", errors)


def _check_resource(value: Object, path: str, errors: list[FieldError]) -> None:
    for key in ("apiVersion", "kind"):
        if key not in value:
            errors.append(field_errors.required(f"{path}.{key}", "must not be empty"))
        elif not isinstance(value[key], str):
            message = f"Invalid value: {go_format.field_value(value[key])}: must be a string"
            errors.append(FieldError(field_errors.INVALID, f"{path}.{key}", message))
        elif not value[key]:
            errors.append(field_errors.invalid(f"{path}.{key}", "", "must not be empty"))
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.count("/") > 1:
        errors.append(field_errors.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    if isinstance(kind, str) and kind and (not _LABEL.fullmatch(kind.lower()) or len(kind) > 63):
        errors.append(field_errors.invalid(f"{path}.kind", kind, _KIND))
    if isinstance(value.get("metadata"), dict):
        errors += _metadata_errors(value["metadata"], f"{path}.metadata")


def _metadata_errors(meta: Object, path: str) -> list[FieldError]:
    named = {"name": "fakename", **{key: inner for key, inner in meta.items() if inner != ""}}
    errors = object_meta_validation.validate(named, bool(meta.get("namespace")), _path_segment)
    return [FieldError(error.reason, path + error.path.removeprefix("metadata"), error.message) for error in errors]


def _path_segment(name: str) -> tuple[str, ...]:
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{character}'" for character in ("/", "%") if character in name)
