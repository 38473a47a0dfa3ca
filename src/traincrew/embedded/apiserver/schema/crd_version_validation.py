"""Validation of the versions of a CustomResourceDefinition: schema, subresources, printer columns, selectable fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import field_errors, go_format, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import cel_limits, crd_schema_validation, structural_rules

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_AT_ROOT = (
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties",
    "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
)  # fmt: skip
MAX_SELECTABLE_FIELDS = 8
_SELECTABLE = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."


def check(versions: list[Object]) -> Iterator[FieldError]:
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield field_errors.required(f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")
    shared = {part for part in _PARTS if _is_shared(versions, part)}
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if messages := name_validation.dns_1035_label(version.get("name", "")):
            yield field_errors.invalid(f"{path}.name", version.get("name", ""), ",".join(messages))
        yield from _deprecation(version, path)
        for part in _PARTS:
            if part not in shared:
                yield from _part(version, part, f"{path}.{part}")
    if cel_limits.exceeded((version.get("schema") or {}).get("openAPIV3Schema") or {} for version in versions):
        yield field_errors.forbidden("spec.versions", "the validation rules (x-kubernetes-validations) are too long")
    counts = Counter(version.get("name", "") for version in versions)
    if any(count > 1 for count in counts.values()):
        yield _about_versions(versions, shared, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield _about_versions(versions, shared, "must have exactly one version marked as storage version")
    for part in _PARTS:
        if part in shared:
            yield from _part(versions[0], part, "spec.validation" if part == "schema" else f"spec.{part}")


_PARTS = {
    "schema": "Schema:(*apiextensions.CustomResourceValidation)",
    "subresources": "Subresources:(*apiextensions.CustomResourceSubresources)",
    "additionalPrinterColumns": "AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition",
    "selectableFields": "SelectableFields:[]apiextensions.SelectableField",
}
"""Fields of each version. If all versions agree, kube-apiserver moves the field up and reports it there. With its Go form."""


def _is_shared(versions: list[Object], part: str) -> bool:
    return bool(versions) and all(version.get(part) and version[part] == versions[0][part] for version in versions)


def _about_versions(versions: list[Object], shared: set[str], message: str) -> FieldError:
    """kube-apiserver prints a pointer here."""
    shown = ", ".join(_printed(version, shared) for version in versions)
    return FieldError(field_errors.INVALID, "spec.versions", f"Invalid value: []{_VERSION}{{{shown}}}: {message}")


_VERSION = "apiextensions.CustomResourceDefinitionVersion"


def _printed(version: Object, shared: set[str]) -> str:
    flags = [f"{key.title()}:{'true' if version.get(key) else 'false'}" for key in ("served", "storage", "deprecated")]
    parts = [f"{shown}({'nil' if part in shared or not version.get(part) else '...'})" for part, shown in _PARTS.items()]
    named = f"Name:{go_format.quote(version.get('name', ''))}"
    return f"{_VERSION}{{{', '.join([named, *flags, 'DeprecationWarning:(*string)(nil)', *parts])}}}"


def _deprecation(version: Object, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        yield field_errors.invalid(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
    elif warning is not None and len(warning) > 256:
        yield field_errors.invalid(f"{path}.deprecationWarning", warning, "must be <= 256 characters long")


def _part(version: Object, part: str, path: str) -> Iterator[FieldError]:
    subresources = version.get("subresources") or {}
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if part == "schema" and schema:
        yield from _schema(schema, f"{path}.openAPIV3Schema", subresources.get("status") is not None)
    elif part == "subresources":
        yield from _scale(subresources.get("scale"), f"{path}.scale")
    elif part == "additionalPrinterColumns":
        for index, column in enumerate(version.get(part) or ()):
            yield from _column(column, f"{path}[{index}]")
    elif part == "selectableFields":
        yield from _selectable(version.get(part) or [], schema or {}, path)


def _schema(schema: Object, path: str, status: bool) -> Iterator[FieldError]:
    if status and any(value not in (None, "", [], {}, False) and key not in _AT_ROOT for key, value in schema.items()):
        message = " ".join(key[:1].upper() + key[1:] for key in _AT_ROOT[:-2]) + " XPreserveUnknownFields XValidations"
        message = f"only [{message}] fields are allowed at the root of the schema if the status subresource is enabled"
        yield FieldError(field_errors.INVALID, path, f"Invalid value: {go_format.field_value(schema)}: {message}")
    if schema.get("nullable"):
        yield field_errors.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if not crd_schema_validation.is_foreign(schema):
        yield from structural_rules.check(schema, path)
    yield from crd_schema_validation.check(schema, path)


def _simple_path(value: str, path: str) -> FieldError | None:
    return None if value.startswith(".") else field_errors.invalid(path, value, "must be a simple json path starting with .")


def _scale(scale: Object | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for key, roots, allowed in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        value = scale.get(key, "")
        if not value:
            if key != "labelSelectorPath":
                yield field_errors.required(f"{path}.{key}")
        elif error := _simple_path(value, f"{path}.{key}"):
            yield error
        elif not value.startswith(roots):
            yield field_errors.invalid(f"{path}.{key}", value, f"should be a json path under {allowed}")


def _column(column: Object, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield field_errors.required(f"{path}.name")
    kind, known = column.get("type", ""), ",".join(_COLUMN_TYPES)
    if not kind:
        yield field_errors.required(f"{path}.type", f"must be one of {known}")
    elif kind not in _COLUMN_TYPES:
        yield field_errors.invalid(f"{path}.type", kind, f"must be one of {known}")
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        yield field_errors.invalid(f"{path}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not column.get("jsonPath"):
        yield field_errors.required(f"{path}.JSONPath")
    elif error := _simple_path(column["jsonPath"], f"{path}.JSONPath"):
        yield error


def _selectable(given: list[Object], schema: Object, path: str) -> Iterator[FieldError]:
    seen = set[str]()
    for index, each in enumerate(given):
        field_path, value = f"{path}[{index}].jsonPath", each.get("jsonPath", "")
        if not value:
            yield field_errors.required(field_path)
            continue
        node, error = _resolve_path(value, schema)
        if error:
            yield field_errors.invalid(field_path, value, f"is an invalid path: {error}")
            continue
        if value.startswith(".metadata"):
            yield field_errors.invalid(field_path, value, "must not point to fields in metadata")
        if node.get("type") not in ("string", "boolean", "integer"):
            yield field_errors.invalid(field_path, value, _SELECTABLE)
        if value in seen:
            yield field_errors.duplicate(field_path, value)
        seen.add(value)
    if len(seen) > MAX_SELECTABLE_FIELDS:
        yield field_errors.too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


def _resolve_path(path: str, schema: Object) -> tuple[Object, str]:
    if not path.startswith("."):
        return {}, "array notation is not allowed" if path.startswith(
            "["
        ) else f"expected [ or . but got: {path.partition('.')[0]}"
    node: Any = schema
    for part in path[1:].split("."):
        if "[" in part:
            return {}, "array notation is not allowed"
        child = (node.get("properties") or {}).get(part)
        if child is None:
            extra = node.get("additionalProperties")
            if not isinstance(extra, dict) or node.get("properties"):
                return {}, "does not refer to a valid field"
            child = extra
        node = child
    return node, ""
