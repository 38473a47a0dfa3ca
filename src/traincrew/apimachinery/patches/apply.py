"""Server-side apply: merges a configuration into the live object, and makes the applier the manager of its fields."""

from __future__ import annotations

from typing import Any, Unpack

import msgspec

from traincrew.apimachinery import go_format, json_equality
from traincrew.apimachinery.api_errors import StatusError, bad_request
from traincrew.apimachinery.patches import apply_merge, apply_validation, field_sets, managed_fields, typed_schemas
from traincrew.apimachinery.patches.apply_conflicts import ApplyConflicts, conflict_error
from traincrew.apimachinery.patches.apply_prune import prune
from traincrew.apimachinery.patches.field_comparison import compare, to_field_set
from traincrew.apimachinery.patches.field_managers import (
    VersionedComparison,
    first_apply,
    reconcile_managers,
    release_changed,
    reset_fields,
    with_managers,
)
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import (
    APPLY,
    FieldManager,
    Managers,
    VersionedSet,
    WriteContext,
    WriteContextFields,
)
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_MAX_ANNOTATION_BYTES = 256 * 1024
_encode = msgspec.json.Encoder(order="sorted").encode


def apply(
    live: Object | None, applied: Object, schema: Schema, *, force: bool = False, **context_fields: Unpack[WriteContextFields]
) -> Object:
    """The live object merged with the configuration, with its managedFields. `live` None: the object is created.

    The arguments are not changed; the result shares parts with them. Raises 409 for conflicts with other managers unless
    forced, 400 and 500 for an invalid configuration.
    """
    context = WriteContext(**context_fields)
    validate(applied, schema, (live["apiVersion"], live["kind"]) if live else None)
    managers = _current_managers(live, schema, context)
    try:
        merged, managers_after = _merge_applied(live, applied, schema, managers, (context, force))
    except ApplyConflicts as conflicts:
        left = _conflicts_after_migration(conflicts, live, applied, schema, context)
        if left:
            raise conflict_error(left) from None
        merged, managers_after = _merge_applied(live, applied, schema, managers, (context, True))
    merged = {**merged, "metadata": with_managers(merged.get("metadata") or {}, managers_after)}
    return _with_last_applied(merged, applied) if context.manager == _KUBECTL else merged


def validate(applied: Any, schema: Schema, expected: tuple[str, str] | None) -> None:
    """The configuration must be of the requested kind (`titled`) and must not have unknown fields."""
    if not isinstance(applied, dict | None):
        why = f"cannot unmarshal {go_format.json_type(applied)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: {why}")
    applied = applied or {}
    named = applied.get("apiVersion"), applied.get("kind")
    if not all(named) or (expected is not None and named != expected):
        raise bad_request(f"invalid object type: {_kind(applied)}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if errors := apply_validation.error_message(applied, typed_schemas.type_of(schema)):
        raise StatusError(500, "", f"failed to create typed patch object ({_named(applied)}; {_kind(applied)}): {errors}")


def _named(document: Object) -> str:
    metadata: Any = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(each if isinstance(each, str) else "" for each in names)


def _kind(document: Object) -> str:
    version, kind = (each if isinstance(each, str) else "" for each in (document.get("apiVersion"), document.get("kind")))
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"


def _current_managers(live: Object | None, schema: Schema, context: WriteContext) -> Managers:
    if live is None:
        return {}
    entries = live["metadata"].get("managedFields")
    return managed_fields.decode(entries) if entries else first_apply(live, schema, context)


def _merge_applied(
    live: Object | None, applied: Object, schema: Schema, managers: Managers, how: tuple[WriteContext, bool]
) -> tuple[Object, Managers]:
    context, force = how
    type_def, version = typed_schemas.type_of(schema), applied["apiVersion"]
    fields = field_sets.recursive_difference(to_field_set(applied, type_def), reset_fields(context.reset))
    own = FieldManager(context.manager or "unknown", APPLY, "", context.subresource)
    versioned_set = VersionedSet(fields, version, context.now)
    if live is None:
        return applied, _with_manager({}, own, versioned_set)
    managers = reconcile_managers(managers, applied, schema, context)
    last = managers.get(own)
    merged = prune(apply_merge.merge(live, applied, type_def), last, {**managers, own: versioned_set}, schema, context)
    changes = VersionedComparison(live, merged, schema, version, context)
    if not force and (conflicts := _conflicts(managers, changes, own)):
        raise ApplyConflicts(conflicts)
    left = release_changed({**managers, own: versioned_set}, changes, own)
    if json_equality.values_equal(live, merged):
        versioned_set = VersionedSet(fields, version, last.time if last is not None else "")
    return merged, _with_manager(left, own, versioned_set)


def _with_manager(others: Managers, own: FieldManager, versioned_set: VersionedSet) -> Managers:
    fields = field_sets.difference(versioned_set.fields, managed_fields.STRIPPED_FIELDS)
    kept = {manager: each for manager, each in others.items() if manager != own}
    return {**kept, own: versioned_set.with_fields(fields)} if fields else kept


def _conflicts(managers: Managers, changes: VersionedComparison, own: FieldManager) -> dict[FieldManager, Fields]:
    conflicts = {}
    for manager, versioned_set in managers.items():
        if manager != own and (seen := changes.in_version(versioned_set.version)) is not None:
            fields = field_sets.intersection(versioned_set.fields, seen.changed)
            if fields:
                conflicts[manager] = fields
    return conflicts


def _conflicts_after_migration(
    conflicts: ApplyConflicts, live: Object | None, applied: Object, schema: Schema, context: WriteContext
) -> dict[FieldManager, Fields]:
    """The conflicts without fields that kubectl applied on the client side, according to its annotation."""
    if context.manager != _KUBECTL or live is None:
        return conflicts.fields
    allowed = _last_applied_fields(live, applied["apiVersion"], schema)
    left = {manager: field_sets.difference(fields, allowed) for manager, fields in conflicts.fields.items()}
    return {manager: fields for manager, fields in left.items() if fields}


def _last_applied_fields(live: Object, version: str, schema: Schema) -> Fields:
    """The fields of the last-applied annotation whose values are still live."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED) or "null"
    type_def = typed_schemas.type_of(schema)
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return field_sets.EMPTY
    if not isinstance(last, dict) or last.get("apiVersion") != version or apply_validation.error_message(last, type_def):
        return field_sets.EMPTY
    comparison = compare(last, live, type_def)
    fields = to_field_set(last, type_def)
    for differing in (comparison.modified, comparison.added, comparison.removed):
        fields = field_sets.difference(fields, differing)
    return fields


def _with_last_applied(merged: Object, applied: Object) -> Object:
    """Keeps kubectl's annotation up to date, so that client-side apply continues to work."""
    metadata = merged["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return merged
    annotations = {**annotations, LAST_APPLIED: _encode_last_applied(applied)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATION_BYTES:
        del annotations[LAST_APPLIED]
    return {**merged, "metadata": {**metadata, "annotations": annotations}}


def _encode_last_applied(applied: Object) -> str:
    metadata = applied.get("metadata") or {}
    annotations = metadata.get("annotations")
    if annotations and LAST_APPLIED in annotations:
        rest = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        bare = {key: value for key, value in metadata.items() if key != "annotations"}
        applied = {**applied, "metadata": {**bare, "annotations": rest} if rest else bare}
    return _encode(applied).decode() + "\n"
