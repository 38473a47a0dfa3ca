"""A custom resource's schema as an API server publishes it."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.resource_info import Object, ResourceInfo, Schema
from traincrew.embedded.apiserver.openapi.paths import reference

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CONVENTIONS = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to "
    f"the latest internal value, and may reject unrecognized values. {_CONVENTIONS}#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the "
    f"client submits requests to. Cannot be updated. In CamelCase. {_CONVENTIONS}#types-kinds"
)
_METADATA: Schema = {
    "description": f"Standard object's metadata. {_CONVENTIONS}#metadata",
    "allOf": [reference(_META + "ObjectMeta")],
}
_LIST_METADATA: Schema = {
    "description": f"Standard list metadata. {_CONVENTIONS}#types-kinds",
    "allOf": [reference(_META + "ListMeta")],
}
_TYPED = {
    "apiVersion": {"description": _API_VERSION, "type": "string"},
    "kind": {"description": _KIND, "type": "string"},
}


def name(served: ResourceInfo, kind: str = "") -> str:
    """`org.kubeflow.v1.TFJob`."""
    return ".".join([*reversed(served.group.split(".")), served.version, kind or served.kind])


def list_kind(served: ResourceInfo) -> str:
    return served.list_kind or f"{served.kind}List"


def definitions(served: ResourceInfo) -> dict[str, Schema]:
    """Of the resource and of its list."""
    kind = list_kind(served)
    return {name(served): _whole(served), name(served, kind): _list(served, kind)}


def written(served: ResourceInfo) -> Schema | None:
    """The schema of this version as the CustomResourceDefinition has it."""
    versions: list[Object] = (served.definition or {}).get("spec", {}).get("versions", [])
    chosen = next((each for each in versions if each["name"] == served.version), {})
    found: Schema | None = (chosen.get("schema") or {}).get("openAPIV3Schema")
    return found


def _whole(served: ResourceInfo) -> Schema:
    schema = written(served)
    if schema is None:
        return {"type": "object", **_marks(served, served.kind)}
    known = _spelled_out(schema)
    properties = {**known.get("properties", {}), **_TYPED, "metadata": _METADATA}
    return known | {"properties": properties} | _marks(served, served.kind)


def _list(served: ResourceInfo, kind: str) -> Schema:
    items = {"description": f"List of {served.plural}. {_CONVENTIONS}", "type": "array", "items": reference(name(served))}
    properties = {**_TYPED, "items": items, "metadata": _LIST_METADATA}
    return {
        "description": f"{kind} is a list of {served.kind}",
        "type": "object",
        "required": ["items"],
        "properties": properties,
        **_marks(served, kind),
    }


def _marks(served: ResourceInfo, kind: str) -> Object:
    selectable = [{"fieldPath": path} for path in served.selectable]
    marks: Object = {
        "x-kubernetes-group-version-kind": [{"group": served.group, "kind": kind, "version": served.version}],
    }
    return marks | {"x-kubernetes-selectable-fields": selectable}


def _spelled_out(schema: Schema) -> Schema:
    """With what goes without saying for an embedded resource and an int-or-string. Shares what it need not change."""
    changed = _parts(schema)
    if schema.get("x-kubernetes-int-or-string") and "anyOf" not in schema:
        changed["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("x-kubernetes-embedded-resource"):
        properties: Schema = changed.get("properties") or schema.get("properties") or {}
        changed["properties"] = {**properties, **_TYPED, "metadata": _METADATA}
        required = schema.get("required", [])
        changed["required"] = [*required, *(each for each in ("kind", "apiVersion") if each not in required)]
    return schema | changed if changed else schema


def _parts(schema: Schema) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for keyword in ("items", "additionalProperties"):
        inner = schema.get(keyword)
        if isinstance(inner, dict) and (other := _spelled_out(inner)) is not inner:
            changed[keyword] = other
    properties = schema.get("properties", {})
    others = {key: _spelled_out(inner) for key, inner in properties.items()}
    if any(others[key] is not properties[key] for key in properties):
        changed["properties"] = others
    return changed
