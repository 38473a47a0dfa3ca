"""The annotation in which client-side `kubectl apply` keeps the last applied configuration."""

from __future__ import annotations

import msgspec

from traincrew.apimachinery.patches import apply_validation, field_sets, typed_schemas
from traincrew.apimachinery.patches.field_comparison import compare, to_field_set
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
"""The field manager of `kubectl apply --server-side`."""
_MAX_ANNOTATION_BYTES = 256 * 1024
_encode = msgspec.json.Encoder(order="sorted").encode


def fields(live: Object, version: str, schema: Schema) -> Fields:
    """The fields of the last-applied annotation whose values are still live."""
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION) or "null"
    type_def = typed_schemas.type_of(schema)
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return field_sets.EMPTY
    if not isinstance(last, dict) or last.get("apiVersion") != version or apply_validation.error_message(last, type_def):
        return field_sets.EMPTY
    comparison = compare(last, live, type_def)
    unchanged = to_field_set(last, type_def)
    for differing in (comparison.modified, comparison.added, comparison.removed):
        unchanged = field_sets.difference(unchanged, differing)
    return unchanged


def updated(merged: Object, applied: Object) -> Object:
    """Keeps kubectl's annotation up to date, so that client-side apply continues to work."""
    metadata = merged["metadata"]
    annotations = metadata.get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return merged
    annotations = {**annotations, ANNOTATION: _encoded(applied)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATION_BYTES:
        del annotations[ANNOTATION]
    return {**merged, "metadata": {**metadata, "annotations": annotations}}


def _encoded(applied: Object) -> str:
    metadata = applied.get("metadata") or {}
    annotations = metadata.get("annotations")
    if annotations and ANNOTATION in annotations:
        rest = {key: value for key, value in annotations.items() if key != ANNOTATION}
        bare = {key: value for key, value in metadata.items() if key != "annotations"}
        applied = {**applied, "metadata": {**bare, "annotations": rest} if rest else bare}
    return _encode(applied).decode() + "\n"
