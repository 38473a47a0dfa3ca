"""Decodes a manifest as the API server does: pruning, defaulting and validation by the structural schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from traincrew.apimachinery.findings import ManifestFinding, Path, Value
from traincrew.apimachinery.structural import defaulting, pruning, schemas, unknown_fields
from traincrew.kinds import validation_rules
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Manifest
from traincrew.validation import crds, object_meta, schema_findings


@dataclasses.dataclass(frozen=True)
class DecodedObject:
    stored: Manifest
    """The object as the API server stores it, pruned and defaulted."""
    errors: tuple[ManifestFinding, ...]
    unknown: tuple[unknown_fields.UnknownField, ...]
    valid_part: Manifest
    """The object without its invalid parts: further checks can report everything else at once."""


def decode(kind: JobKind, document: Manifest) -> DecodedObject:
    node = crds.openapi(kind.plural, document["apiVersion"].rpartition("/")[2])
    body = _with_floats(document)
    meta, errors = object_meta.decode(body.pop("metadata", None))
    body.pop("status", None)  # the API server drops the status of a new object
    structure = schemas.of(node)
    pruning.prune(body, structure)
    pruning.drop_nulls(body, structure)
    defaulting.default(body, structure)
    errors += schema_findings.check(body, node)
    stored = {"apiVersion": body.pop("apiVersion"), "kind": body.pop("kind"), "metadata": meta, **body}
    wrong = {error.path for error in errors}
    errors += (error for error in (*_scale_findings(kind, stored), *_count_findings(kind, stored)) if error.path not in wrong)
    return DecodedObject(
        stored, tuple(errors), tuple(_unknown_fields(document, node)), _without_invalid_parts(kind, stored, errors)
    )


def _unknown_fields(document: Manifest, node: unknown_fields.Schema) -> Iterator[unknown_fields.UnknownField]:
    yield from unknown_fields.find({key: value for key, value in document.items() if key != "metadata"}, node)
    if isinstance(document.get("metadata"), dict):
        yield from unknown_fields.find(document["metadata"], object_meta.SCHEMA, ("metadata",))


def _with_floats(value: Value) -> Value:
    """A copy in which integers beyond 64 bits are floats, as in the API server."""
    if isinstance(value, dict):
        return {key: _with_floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_floats(inner) for inner in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _scale_findings(kind: JobKind, stored: Manifest) -> Iterator[ManifestFinding]:
    """The replicas of the scale subresource are validated separately, and more strictly."""
    if not kind.crd.scalable:
        return
    path = tuple(crds.scale(kind)["specReplicasPath"].split(".")[1:])
    value = value_at(stored, path)
    if isinstance(value, float):
        yield ManifestFinding(path, f"must be an integer, got {value!r}")
    elif isinstance(value, int) and not 0 <= value < 2**31:
        yield ManifestFinding(path, f"must be between 0 and {2**31 - 1}, got {value}")


def _count_findings(kind: JobKind, stored: Manifest) -> Iterator[ManifestFinding]:
    roles = {rule.counts for rule in validation_rules.cel_rules(kind)} - {""}
    replicas = value_at(stored, ("spec", kind.replicas_field))
    for key, entry in replicas.items() if isinstance(replicas, dict) else ():
        role = kind.role(key)
        count = entry.get("replicas") if isinstance(entry, dict) else None
        if role is not None and role.name in roles and isinstance(count, float):
            yield ManifestFinding(("spec", kind.replicas_field, key, "replicas"), f"must be an integer, got {count!r}")


def value_at(value: Value, path: Path) -> Value:
    """The value at a path; None if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(str(key))
    return value


def _without_invalid_parts(kind: JobKind, stored: Manifest, errors: list[ManifestFinding]) -> Manifest:
    if not errors:
        return stored
    copy: Manifest = _with_floats(stored)
    for error in errors:
        if error.path[:2] == ("spec", kind.replicas_field) and error.path[3:4] == ("template",):
            copy["spec"][kind.replicas_field][error.path[2]]["template"] = _minimal_template(kind)
        else:
            _remove(copy, error.path)
    return copy


def _minimal_template(kind: JobKind) -> Manifest:
    return {"spec": {"containers": [{"name": kind.pods.container, "image": "unknown"}]}}


def _remove(value: Value, path: Path) -> None:
    """Removes the value at a path. If it is an item of a list, removes the list."""
    for depth, key in enumerate(path):
        if not isinstance(value, dict) or key not in value:
            return
        if depth + 1 == len(path) or isinstance(path[depth + 1], int):
            del value[key]
            return
        value = value[key]
