"""Server-side apply: merges a configuration into the live object, and makes the applier the manager of its fields."""

from __future__ import annotations

from typing import Any, Unpack

from traincrew.apimachinery import go_format, json_equality
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.patches import (
    apply_conflicts,
    apply_merge,
    apply_validation,
    field_sets,
    last_applied,
    managed_fields,
    typed_schemas,
)
from traincrew.apimachinery.patches.apply_conflicts import ApplyConflicts
from traincrew.apimachinery.patches.apply_prune import prune
from traincrew.apimachinery.patches.field_comparison import to_field_set
from traincrew.apimachinery.patches.field_managers import (
    VersionedComparison,
    first_apply,
    reconcile_managers,
    release_changed,
    reset_fields,
    with_managers,
)
from traincrew.apimachinery.patches.managed_fields import (
    APPLY,
    FieldManager,
    ManagedFieldsContext,
    Managers,
    VersionedSet,
    WriteContextFields,
)
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object


def apply(
    live: Object | None, applied: Object, schema: Schema, *, force: bool = False, **context_fields: Unpack[WriteContextFields]
) -> Object:
    """The live object merged with the configuration, with its managedFields. `live` None: the object is created.

    The arguments are not changed; the result shares parts with them. Raises 409 for conflicts with other managers unless
    forced, 400 for an invalid configuration.
    """
    context = ManagedFieldsContext(**context_fields)
    validate(applied, schema, (live["apiVersion"], live["kind"]) if live else None)
    managers = _current_managers(live, schema, context)
    try:
        merged, managers_after = _merge_applied(live, applied, schema, managers, (context, force))
    except ApplyConflicts as conflicts:
        left = apply_conflicts.after_migration(conflicts, live, applied, schema, context)
        if left:
            raise apply_conflicts.error(left) from None
        merged, managers_after = _merge_applied(live, applied, schema, managers, (context, True))
    merged = {**merged, "metadata": with_managers(merged.get("metadata") or {}, managers_after)}
    return last_applied.updated(merged, applied) if context.manager == last_applied.KUBECTL else merged


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
        raise bad_request(f"failed to create typed patch object ({_named(applied)}; {_kind(applied)}): {errors}")


def _named(document: Object) -> str:
    metadata: Any = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(each if isinstance(each, str) else "" for each in names)


def _kind(document: Object) -> str:
    version, kind = (each if isinstance(each, str) else "" for each in (document.get("apiVersion"), document.get("kind")))
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"


def _current_managers(live: Object | None, schema: Schema, context: ManagedFieldsContext) -> Managers:
    if live is None:
        return {}
    entries = live["metadata"].get("managedFields")
    return managed_fields.decode(entries) if entries else first_apply(live, schema, context)


def _merge_applied(
    live: Object | None, applied: Object, schema: Schema, managers: Managers, how: tuple[ManagedFieldsContext, bool]
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
    if not force and (conflicts := apply_conflicts.detect(managers, changes, own)):
        raise ApplyConflicts(conflicts)
    left = release_changed({**managers, own: versioned_set}, changes, own)
    if json_equality.values_equal(live, merged):
        versioned_set = VersionedSet(fields, version, last.time if last is not None else "")
    return merged, _with_manager(left, own, versioned_set)


def _with_manager(others: Managers, own: FieldManager, versioned_set: VersionedSet) -> Managers:
    fields = field_sets.difference(versioned_set.fields, managed_fields.STRIPPED_FIELDS)
    kept = {manager: each for manager, each in others.items() if manager != own}
    return {**kept, own: versioned_set.with_fields(fields)} if fields else kept
