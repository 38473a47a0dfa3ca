"""OpenAPI version 2, reduced to the parts that clients request: the definitions, without paths.

kubectl before 1.29 fetches it for most of its commands, later ones for `apply` of custom resources and for
`explain --output=plaintext-openapiv2`; they need only the definitions if version 3 is served too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import documents
from traincrew.embedded.apiserver.openapi import crds
from traincrew.embedded.apiserver.openapi.documents import Definitions, reachable

_KEYWORDS = ("description", "type", "format", "required", "enum", "default", "pattern")
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_SCALARS: dict[str, Schema] = {
    _QUANTITY: {"type": "string"},
    _INT_OR_STRING: {"type": "string", "format": "int-or-string"},
}


def document(resources: Sequence[ResourceInfo], definitions: Definitions) -> Object:
    """/openapi/v2."""
    own = {name: schema for each in resources if each.definition is not None for name, schema in crds.definitions(each).items()}
    roots = [name for name, schema in definitions.items() if "x-kubernetes-group-version-kind" in schema]
    known = reachable([*roots, *own], {**definitions, **own})
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": f"v{documents.VERSION}"},
        "paths": {},
        "definitions": {name: _SCALARS.get(name) or _downgraded(schema) for name, schema in known.items()},
    }


def _downgraded(schema: Schema) -> Schema:
    """The schema in version 2. Where version 2 cannot express it, any value is allowed."""
    if "$ref" in schema:
        return _reference(schema["$ref"])
    if "allOf" in schema and len(schema["allOf"]) == 1 and "$ref" in schema["allOf"][0]:
        beside = {key: schema[key] for key in ("description", "default") if key in schema}
        return beside | _reference(schema["allOf"][0]["$ref"]) | _extensions(schema)
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        known = {"type": "object"} if schema.get("type") == "object" and not schema.get("nullable") else {}
        return known | _extensions(schema)
    if schema.get("x-kubernetes-int-or-string"):
        return _extensions(schema)
    older: dict[str, Any] = {key: schema[key] for key in _KEYWORDS if key in schema}
    if "properties" in schema:
        older["properties"] = {key: _downgraded(inner) for key, inner in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            older[keyword] = _downgraded(schema[keyword])
    return older | _extensions(schema)


def _reference(target: str) -> Schema:
    return {"$ref": f"#/definitions/{target.rpartition('/')[2]}"}


def _extensions(schema: Schema) -> Object:
    return {key: value for key, value in schema.items() if key.startswith("x-kubernetes-") and key != "x-kubernetes-validations"}
