"""The published schema of a custom resource."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.unstructured import Object
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


def name(info: ResourceInfo, kind: str = "") -> str:
    """`org.kubeflow.v1.TFJob`."""
    return ".".join([*reversed(info.group.split(".")), info.version, kind or info.kind])


def list_kind(info: ResourceInfo) -> str:
    return info.list_kind or f"{info.kind}List"


def definitions(info: ResourceInfo) -> dict[str, Schema]:
    """The definitions of the resource and of its list."""
    kind = list_kind(info)
    return {name(info): _object(info), name(info, kind): _list(info, kind)}


def stored_schema(info: ResourceInfo) -> Schema | None:
    """The schema of this version in the CustomResourceDefinition."""
    versions: list[Object] = (info.definition or {}).get("spec", {}).get("versions", [])
    chosen = next((each for each in versions if each["name"] == info.version), {})
    schema: Schema | None = (chosen.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _object(info: ResourceInfo) -> Schema:
    schema = stored_schema(info)
    if schema is None:
        return {"type": "object", **_extensions(info, info.kind)}
    known = _expanded(schema)
    properties = {**known.get("properties", {}), **_TYPED, "metadata": _METADATA}
    return known | {"properties": properties} | _extensions(info, info.kind)


def _list(info: ResourceInfo, kind: str) -> Schema:
    items = {"description": f"List of {info.plural}. {_CONVENTIONS}", "type": "array", "items": reference(name(info))}
    properties = {**_TYPED, "items": items, "metadata": _LIST_METADATA}
    return {
        "description": f"{kind} is a list of {info.kind}",
        "type": "object",
        "required": ["items"],
        "properties": properties,
        **_extensions(info, kind),
    }


def _extensions(info: ResourceInfo, kind: str) -> Object:
    selectable = [{"fieldPath": path} for path in info.selectable]
    marks: Object = {
        "x-kubernetes-group-version-kind": [{"group": info.group, "kind": kind, "version": info.version}],
    }
    return marks | {"x-kubernetes-selectable-fields": selectable}


def _expanded(schema: Schema) -> Schema:
    """Adds the implied properties of embedded resources and int-or-string. Unchanged parts are shared."""
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
        if isinstance(inner, dict) and (other := _expanded(inner)) is not inner:
            changed[keyword] = other
    properties = schema.get("properties", {})
    others = {key: _expanded(inner) for key, inner in properties.items()}
    if any(others[key] is not properties[key] for key in properties):
        changed["properties"] = others
    return changed
