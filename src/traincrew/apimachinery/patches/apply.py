"""Server-side apply: a configuration is merged into the live object, and its applier owns what it says."""

from __future__ import annotations

from typing import Any, Unpack

import msgspec

from traincrew.apimachinery import go_format, json_equality
from traincrew.apimachinery.api_errors import StatusError, bad_request
from traincrew.apimachinery.patches import apply_merge, apply_validation, field_sets, managed_fields, merge_shapes
from traincrew.apimachinery.patches.apply_conflicts import Conflicts, refusal
from traincrew.apimachinery.patches.apply_prune import pruned
from traincrew.apimachinery.patches.field_changes import compare, held
from traincrew.apimachinery.patches.field_managers import Changes, current, first_apply, given_up, owned, reset_fields
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import APPLY, Owner, Owners, Share, Writer, Writing
from traincrew.apimachinery.resource_info import Object, Schema

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_MOST_ANNOTATIONS = 256 * 1024
_encode = msgspec.json.Encoder(order="sorted").encode


def apply(live: Object | None, applied: Object, schema: Schema, *, force: bool = False, **writing: Unpack[Writing]) -> Object:
    """The live object with the configuration in it, and managedFields that say so. `live` None: it is made.

    Neither argument is changed; the result shares with them what it can. Refusals: 409 for what others own unless by
    force, 400 and 500 for what is no configuration.
    """
    writer = Writer(**writing)
    check(applied, schema, (live["apiVersion"], live["kind"]) if live else None)
    known = _known(live, schema, writer)
    try:
        merged, found = _applied(live, applied, schema, known, (writer, force))
    except Conflicts as conflicts:
        left = _upgraded(conflicts, live, applied, schema, writer)
        if left:
            raise refusal(left) from None
        merged, found = _applied(live, applied, schema, known, (writer, True))
    merged = {**merged, "metadata": owned(merged.get("metadata") or {}, found)}
    return _with_last_applied(merged, applied) if writer.manager == _KUBECTL else merged


def check(applied: Any, schema: Schema, titled: tuple[str, str] | None) -> None:
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
    if faults := apply_validation.faults(applied, merge_shapes.of(schema)):
        raise StatusError(500, "", f"failed to create typed patch object ({_named(applied)}; {_kind(applied)}): {faults}")


def _named(document: Object) -> str:
    metadata: Any = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    told = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(each if isinstance(each, str) else "" for each in told)


def _kind(document: Object) -> str:
    version, kind = (each if isinstance(each, str) else "" for each in (document.get("apiVersion"), document.get("kind")))
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"


def _known(live: Object | None, schema: Schema, writer: Writer) -> Owners:
    if live is None:
        return {}
    entries = live["metadata"].get("managedFields")
    return managed_fields.read(entries) if entries else first_apply(live, schema, writer)


def _applied(
    live: Object | None, applied: Object, schema: Schema, known: Owners, how: tuple[Writer, bool]
) -> tuple[Object, Owners]:
    writer, force = how
    shape, version = merge_shapes.of(schema), applied["apiVersion"]
    fields = field_sets.without(held(applied, shape), reset_fields(writer.reset))
    own = Owner(writer.manager or "unknown", APPLY, "", writer.subresource)
    share = Share(fields, version, writer.now)
    if live is None:
        return applied, _owning({}, own, share)
    known = current(known, applied, schema, writer)
    last = known.get(own)
    merged = pruned(apply_merge.merged(live, applied, shape), last, {**known, own: share}, schema, writer)
    changes = Changes(live, merged, schema, version, writer)
    if not force and (found := _conflicts(known, changes, own)):
        raise Conflicts(found)
    left = given_up({**known, own: share}, changes, own)
    if json_equality.values_equal(live, merged):
        share = Share(fields, version, last.time if last is not None else "")
    return merged, _owning(left, own, share)


def _owning(others: Owners, own: Owner, share: Share) -> Owners:
    fields = field_sets.difference(share.fields, managed_fields.NEVER_OWNED)
    kept = {owner: each for owner, each in others.items() if owner != own}
    return {**kept, own: share.owning(fields)} if fields else kept


def _conflicts(known: Owners, changes: Changes, own: Owner) -> dict[Owner, Fields]:
    found = {}
    for owner, share in known.items():
        if owner != own and (seen := changes.seen_in(share.version)) is not None:
            fields = field_sets.intersection(share.fields, seen.changed)
            if fields:
                found[owner] = fields
    return found


def _upgraded(conflicts: Conflicts, live: Object | None, applied: Object, schema: Schema, writer: Writer) -> dict[Owner, Fields]:
    """The conflicts that are left when kubectl takes over what it had applied by itself: its annotation tells what that was."""
    if writer.manager != _KUBECTL or live is None:
        return conflicts.fields
    allowed = _last_applied(live, applied["apiVersion"], schema)
    left = {owner: field_sets.difference(fields, allowed) for owner, fields in conflicts.fields.items()}
    return {owner: fields for owner, fields in left.items() if fields}


def _last_applied(live: Object, version: str, schema: Schema) -> Fields:
    """What the annotation says and the live object still holds."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED) or "null"
    shape = merge_shapes.of(schema)
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return field_sets.EMPTY
    if not isinstance(last, dict) or last.get("apiVersion") != version or apply_validation.faults(last, shape):
        return field_sets.EMPTY
    found = compare(last, live, shape)
    fields = held(last, shape)
    for differing in (found.modified, found.added, found.removed):
        fields = field_sets.difference(fields, differing)
    return fields


def _with_last_applied(merged: Object, applied: Object) -> Object:
    """kubectl's own annotation follows, so that its client-side apply goes on working."""
    metadata = merged["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return merged
    annotations = {**annotations, LAST_APPLIED: _encoded(applied)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MOST_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    return {**merged, "metadata": {**metadata, "annotations": annotations}}


def _encoded(applied: Object) -> str:
    metadata = applied.get("metadata") or {}
    annotations = metadata.get("annotations")
    if annotations and LAST_APPLIED in annotations:
        rest = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        bare = {key: value for key, value in metadata.items() if key != "annotations"}
        applied = {**applied, "metadata": {**bare, "annotations": rest} if rest else bare}
    return _encode(applied).decode() + "\n"
