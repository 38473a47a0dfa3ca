"""Whether a CRD of the cluster is older than this version of traincrew: the API server would drop parts of the status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traincrew.kinds.kind import JobKind
from traincrew.validation import status_schema

Schema = Mapping[str, Any]

NAMED = 3
"""Fields that a message names."""


def missing_status_fields(served: Schema) -> list[str]:
    """Fields that this version writes and that the served schema of a job does not have."""
    return list(_missing(status_schema.status(), (served.get("properties") or {}).get("status") or {}, "status"))


def _missing(wanted: Schema, served: Schema, path: str) -> Iterator[str]:
    if served.get("x-kubernetes-preserve-unknown-fields"):
        return
    for name, schema in (wanted.get("properties") or {}).items():
        inner = (served.get("properties") or {}).get(name)
        if inner is None:
            yield f"{path}.{name}"
        else:
            yield from _missing(schema, inner, f"{path}.{name}")
    for nested in ("additionalProperties", "items"):
        if nested in wanted:
            yield from _missing(wanted[nested], served.get(nested) or {}, path)


def of_openapi(kind: JobKind, schemas: Mapping[str, Schema]) -> list[str] | None:
    """The missing fields by the schemas of an OpenAPI document; None if the kind is not in it."""
    wanted = {"group": kind.resource.group, "version": kind.resource.version, "kind": kind.kind}
    for schema in schemas.values():
        if wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
            return missing_status_fields(schema)
    return None


def describe(name: str, missing: list[str]) -> str:
    more = len(missing) - NAMED
    return f"{name} has no {', '.join(missing[:NAMED])}" + (f" and {more} more" if more > 0 else "")
