"""Object metadata, decoded and validated as the API server does for every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import name_validation, times
from traincrew.apimachinery.findings import ManifestFinding, Path
from traincrew.apimachinery.structural import pruning, schemas
from traincrew.validation import schema_findings

Meta = dict[str, Any]

_METADATA = ("metadata",)
_ANNOTATION_BYTES = 256 * 1024
_SERVER_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "selfLink", "generation")
_PREFIX_LENGTH = 58
"""Characters of generateName that are kept; five random ones follow."""


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_OWNER_REFERENCE = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        "controller": {"type": "boolean"},
        "blockOwnerDeletion": {"type": "boolean"},
    },
}
_MANAGED_FIELDS_ENTRY = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("manager", "operation", "apiVersion", "time", "fieldsType", "subresource"), _TEXT),
        "fieldsV1": {"type": "object", schemas.PRESERVE: True},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), _TEXT),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TEXT),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _NUMBER),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": {"type": "array", "items": _OWNER_REFERENCE},
        "managedFields": {"type": "array", "items": _MANAGED_FIELDS_ENTRY},
    },
}


def decode(meta: Any) -> tuple[Meta, list[ManifestFinding]]:
    """The metadata without nulls and unknown fields, and the findings about wrong types."""
    meta = {} if meta is None else meta
    node = schemas.of(SCHEMA)
    pruning.prune(meta, node, _METADATA[0])
    _null_to_empty(meta)
    pruning.drop_nulls(meta, node)
    wrong = [*schema_findings.check(meta, SCHEMA, _METADATA)]
    return (meta, [*wrong, *_time_findings(meta)]) if isinstance(meta, dict) else ({}, wrong)


def _null_to_empty(meta: Any) -> None:
    """A null value of a label or annotation is the empty string."""
    for field in ("labels", "annotations"):
        texts = meta.get(field) if isinstance(meta, dict) else None
        if isinstance(texts, dict):
            texts |= {key: "" for key, value in texts.items() if value is None}


def _time_findings(meta: Meta) -> Iterator[ManifestFinding]:
    for field in ("creationTimestamp", "deletionTimestamp"):
        value = meta.get(field)
        if isinstance(value, str) and not is_timestamp(value):
            yield ManifestFinding((*_METADATA, field), f"must be a time such as 2024-12-31T23:59:59Z, got {value!r}")


def is_timestamp(text: str) -> bool:
    try:
        times.parse(text)
    except times.TimeError:
        return False
    return True


def generated_name(meta: Meta) -> str:
    """The name, or one like those that the API server generates from generateName."""
    prefix = meta.get("generateName") or ""
    return meta.get("name") or (prefix[:_PREFIX_LENGTH] + "00000" if prefix else "")


def for_new_object(meta: Meta) -> Meta:
    """The metadata with a name, and without the fields that only the API server sets."""
    return {**{key: value for key, value in meta.items() if key not in _SERVER_FIELDS}, "name": generated_name(meta)}


def validate(meta: Meta) -> Iterator[ManifestFinding]:
    """Violations in the metadata of a new object."""
    name, prefix = meta.get("name") or "", meta.get("generateName") or ""
    if prefix:
        yield from _subdomain_findings((*_METADATA, "generateName"), name_validation.mask_trailing_dash(prefix), prefix)
    if not name and not prefix:
        yield ManifestFinding((*_METADATA, "name"), "name or generateName is required")
    elif name or generated_name(meta):
        at = (*_METADATA, "name") if name else (*_METADATA, "generateName")
        yield from _subdomain_findings(at, generated_name(meta), name or prefix)
    namespace = meta.get("namespace") or ""
    if namespace and name_validation.dns_label(namespace):
        yield ManifestFinding(
            (*_METADATA, "namespace"), f"must be a DNS label of lower case letters, digits and '-', got {namespace!r}"
        )
    yield from validate_maps(meta)


def validate_maps(meta: Meta) -> Iterator[ManifestFinding]:
    """Violations in the metadata of new and changed objects."""
    for key, value in (meta.get("labels") or {}).items():
        if fault := _qualified_name_error(key):
            yield ManifestFinding((*_METADATA, "labels", key), fault)
        if name_validation.label_value(value):
            words = "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
            yield ManifestFinding((*_METADATA, "labels", key), f"must be {words}, got {value!r}")
    annotations = meta.get("annotations") or {}
    for key in annotations:
        if fault := _qualified_name_error(key.lower()):
            yield ManifestFinding((*_METADATA, "annotations", key), fault)
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATION_BYTES:
        yield ManifestFinding((*_METADATA, "annotations"), f"must have at most {_ANNOTATION_BYTES} bytes together")
    yield from _owner_findings(meta.get("ownerReferences") or [])
    yield from _finalizer_findings(meta.get("finalizers") or [])


def _subdomain_findings(path: Path, name: str, shown: str) -> Iterator[ManifestFinding]:
    if name_validation.dns_subdomain(name):
        words = "at most 253 lower case letters, digits, '-' and '.', beginning and ending with a letter or digit"
        yield ManifestFinding(path, f"must be {words}, got {shown!r}")


def _qualified_name_error(key: str) -> str:
    return f"{key!r} is not a name such as my-name or example.com/my-name" if name_validation.qualified_name(key) else ""


def _owner_findings(owners: list[Meta]) -> Iterator[ManifestFinding]:
    controllers = 0
    for index, owner in enumerate(owners):
        if owner in owners[:index]:
            continue  # the API server drops repeated entries
        path: Path = (*_METADATA, "ownerReferences", index)
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield ManifestFinding((*path, field), "must not be empty")
        if owner.get("apiVersion", "").count("/") > 1 or owner.get("apiVersion", "").endswith("/"):
            yield ManifestFinding((*path, "apiVersion"), f"is not a valid group and version: {owner['apiVersion']!r}")
        if owner.get("kind") == "Event" and owner.get("apiVersion") == "v1":
            yield ManifestFinding(path, "an Event cannot be an owner")
        controllers += owner.get("controller") is True
        if owner.get("controller") is True and controllers > 1:
            yield ManifestFinding((*path, "controller"), "only one owner may be the controller")


def _finalizer_findings(finalizers: list[str]) -> Iterator[ManifestFinding]:
    for index, finalizer in enumerate(finalizers):
        if fault := _qualified_name_error(finalizer):
            yield ManifestFinding((*_METADATA, "finalizers", index), fault)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield ManifestFinding((*_METADATA, "finalizers"), "orphan and foregroundDeletion cannot both be set")
