"""Server-side apply: a configuration is merged into the live object, and its applier owns what it says."""

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
from traincrew.apimachinery.resource_info import Object, Schema

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_MAX_ANNOTATION_BYTES = 256 * 1024
_encode = msgspec.json.Encoder(order="sorted").encode


def apply(
    live: Object | None, applied: Object, schema: Schema, *, force: bool = False, **writing: Unpack[WriteContextFields]
) -> Object:
    """The live object with the configuration in it, and managedFields that say so. `live` None: it is made.

    Neither argument is changed; the result shares with them what it can. Refusals: 409 for what others own unless by
    force, 400 and 500 for what is no configuration.
    """
    writer = WriteContext(**writing)
    validate(applied, schema, (live["apiVersion"], live["kind"]) if live else None)
    known = _current_managers(live, schema, writer)
    try:
        merged, found = _merge_applied(live, applied, schema, known, (writer, force))
    except ApplyConflicts as conflicts:
        left = _conflicts_after_migration(conflicts, live, applied, schema, writer)
        if left:
            raise conflict_error(left) from None
        merged, found = _merge_applied(live, applied, schema, known, (writer, True))
    merged = {**merged, "metadata": with_managers(merged.get("metadata") or {}, found)}
    return _with_last_applied(merged, applied) if writer.manager == _KUBECTL else merged


def validate(applied: Any, schema: Schema, titled: tuple[str, str] | None) -> None:
    """That it is a configuration: of the kind that was asked for (`titled`), and with no field that the schema does not know."""
    if not isinstance(applied, dict | None):
        found = f"cannot unmarshal {go_format.json_type(applied)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: {found}")
    applied = applied or {}
    named = applied.get("apiVersion"), applied.get("kind")
    if not all(named) or (titled is not None and named != titled):
        raise bad_request(f"invalid object type: {_kind(applied)}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if faults := apply_validation.error_message(applied, typed_schemas.type_of(schema)):
        raise StatusError(500, "", f"failed to create typed patch object ({_named(applied)}; {_kind(applied)}): {faults}")


def _named(document: Object) -> str:
    metadata: Any = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    told = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(each if isinstance(each, str) else "" for each in told)


def _kind(document: Object) -> str:
    version, kind = (each if isinstance(each, str) else "" for each in (document.get("apiVersion"), document.get("kind")))
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"


def _current_managers(live: Object | None, schema: Schema, writer: WriteContext) -> Managers:
    if live is None:
        return {}
    entries = live["metadata"].get("managedFields")
    return managed_fields.decode(entries) if entries else first_apply(live, schema, writer)


def _merge_applied(
    live: Object | None, applied: Object, schema: Schema, known: Managers, how: tuple[WriteContext, bool]
) -> tuple[Object, Managers]:
    writer, force = how
    shape, version = typed_schemas.type_of(schema), applied["apiVersion"]
    fields = field_sets.recursive_difference(to_field_set(applied, shape), reset_fields(writer.reset))
    own = FieldManager(writer.manager or "unknown", APPLY, "", writer.subresource)
    share = VersionedSet(fields, version, writer.now)
    if live is None:
        return applied, _with_manager({}, own, share)
    known = reconcile_managers(known, applied, schema, writer)
    last = known.get(own)
    merged = prune(apply_merge.merge(live, applied, shape), last, {**known, own: share}, schema, writer)
    changes = VersionedComparison(live, merged, schema, version, writer)
    if not force and (found := _conflicts(known, changes, own)):
        raise ApplyConflicts(found)
    left = release_changed({**known, own: share}, changes, own)
    if json_equality.values_equal(live, merged):
        share = VersionedSet(fields, version, last.time if last is not None else "")
    return merged, _with_manager(left, own, share)


def _with_manager(others: Managers, own: FieldManager, share: VersionedSet) -> Managers:
    fields = field_sets.difference(share.fields, managed_fields.STRIPPED_FIELDS)
    kept = {owner: each for owner, each in others.items() if owner != own}
    return {**kept, own: share.owning(fields)} if fields else kept


def _conflicts(known: Managers, changes: VersionedComparison, own: FieldManager) -> dict[FieldManager, Fields]:
    found = {}
    for owner, share in known.items():
        if owner != own and (seen := changes.seen_in(share.version)) is not None:
            fields = field_sets.intersection(share.fields, seen.changed)
            if fields:
                found[owner] = fields
    return found


def _conflicts_after_migration(
    conflicts: ApplyConflicts, live: Object | None, applied: Object, schema: Schema, writer: WriteContext
) -> dict[FieldManager, Fields]:
    """The conflicts that are left when kubectl takes over what it had applied by itself: its annotation tells what that was."""
    if writer.manager != _KUBECTL or live is None:
        return conflicts.fields
    allowed = _last_applied_fields(live, applied["apiVersion"], schema)
    left = {owner: field_sets.difference(fields, allowed) for owner, fields in conflicts.fields.items()}
    return {owner: fields for owner, fields in left.items() if fields}


def _last_applied_fields(live: Object, version: str, schema: Schema) -> Fields:
    """What the annotation says and the live object still holds."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED) or "null"
    shape = typed_schemas.type_of(schema)
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return field_sets.EMPTY
    if not isinstance(last, dict) or last.get("apiVersion") != version or apply_validation.error_message(last, shape):
        return field_sets.EMPTY
    found = compare(last, live, shape)
    fields = to_field_set(last, shape)
    for differing in (found.modified, found.added, found.removed):
        fields = field_sets.difference(fields, differing)
    return fields


def _with_last_applied(merged: Object, applied: Object) -> Object:
    """kubectl's own annotation follows, so that its client-side apply goes on working."""
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
