"""The built-in kinds: their schemas as kube-apiserver publishes them, and the resources that are served."""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
from collections.abc import Mapping
from typing import Any

import msgspec

from traincrew.apimachinery.resource_info import ResourceInfo, Schema, Subresource

GO_STRUCT = "x-go-struct"
"""On the schema of an object that Go decodes into a struct: the name of that struct."""
GO_FIELDS = "x-go-fields"
"""The Go type of each field of the struct, with ! after the type of a field that is written even if empty."""

GO_UNION = "x-go-union"
"""On a schema with a custom decoder in Go: one of UNIONS. Its struct, if any, is in `items`."""
UNIONS = {"JSONSchemaPropsOrBool": "bool", "JSONSchemaPropsOrArray": "array", "JSONSchemaPropsOrStringArray": "strings"}

STORED_AS = {
    ("events.k8s.io/v1", "events"): ("v1", "events"),
    ("autoscaling/v1", "horizontalpodautoscalers"): ("autoscaling/v2", "horizontalpodautoscalers"),
}
"""Kinds stored as another version."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
OBJECT_META = _META + "ObjectMeta"
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_SPECIAL: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"x-kubernetes-int-or-string": True, "format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True, "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object", **_ANYTHING},
    _META + "Time": {"type": "string", "format": "date-time"},
    _META + "MicroTime": {"type": "string", "format": "micro-time"},
    _META + "FieldsV1": {"type": "object", **_ANYTHING},
    _META + "Patch": {"type": "object", **_ANYTHING},
    _EXTENSIONS + "JSON": _ANYTHING,
}
"""Replacements for definitions that JSON schema cannot express."""


@dataclasses.dataclass(frozen=True)
class Builtins:
    definitions: dict[str, Schema]
    """As in the OpenAPI documents, with $refs to `#/components/schemas/NAME`, without descriptions."""
    types: Mapping[str, Mapping[str, str]]
    """Definition → field → Go type."""

    @functools.cached_property
    def _names(self) -> dict[tuple[str, str, str], str]:
        return {
            (kind["group"], kind["version"], kind["kind"]): name
            for name, definition in self.definitions.items()
            for kind in definition.get("x-kubernetes-group-version-kind", ())
        }

    @functools.cached_property
    def _linked(self) -> dict[str, Schema]:
        return {}

    def name(self, group: str, version: str, kind: str) -> str:
        """The name of a kind's definition. KeyError if the kind is not built in."""
        return self._names[group, version, kind]

    def schema(self, group: str, version: str, kind: str) -> Schema:
        """The schema with resolved references: a graph of shared dicts, possibly cyclic, read-only."""
        return self.linked(self.name(group, version, kind))

    def linked(self, name: str) -> Schema:
        """The schema by the name of its definition."""
        schema = self._linked.get(name)
        if schema is None:
            # Registered before its parts: a definition may contain itself.
            schema = self._linked[name] = {}
            schema.update(self._build_schema(name))
        return schema

    def _build_schema(self, name: str) -> Schema:
        short = name.rpartition(".")[2]
        if name in _SPECIAL:
            return _SPECIAL[name]
        if short in UNIONS:
            return {**_ANYTHING, GO_UNION: UNIONS[short], "items": self.linked(_EXTENSIONS + "JSONSchemaProps")}
        schema = self._link(self.definitions[name])
        return schema | {GO_STRUCT: short, GO_FIELDS: self.types[name]} if name in self.types else schema

    def _link(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            return self.linked(schema["$ref"].rpartition("/")[2])
        if "allOf" in schema:
            # OpenAPI v3 allows no sibling of a reference, so a reference with a default is wrapped. A definition that contains
            # itself may still be empty at this point: then the default is dropped.
            (only,) = schema["allOf"]
            beside = {key: value for key, value in schema.items() if key != "allOf"}
            bare = self._link(only)
            return bare | beside if beside and bare else bare
        linked = dict(schema)
        if "properties" in schema:
            linked["properties"] = {key: self._link(inner) for key, inner in schema["properties"].items()}
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                linked[keyword] = self._link(schema[keyword])
        return linked

    def resources(self) -> tuple[ResourceInfo, ...]:
        return self._served

    @functools.cached_property
    def _served(self) -> tuple[ResourceInfo, ...]:
        entries: list[dict[str, Any]] = msgspec.json.decode(_read("resources.json"))
        resources = [
            self._resource(entry, [each for each in entries if _belongs(each, entry)])
            for entry in entries
            if "/" not in entry["name"]
        ]
        by_name = {(each.api_version, each.plural): each for each in resources}
        kept = {name: by_name[other] for name, other in STORED_AS.items()}
        return tuple(dataclasses.replace(each, stored_as=kept.get((each.api_version, each.plural))) for each in resources)

    def _resource(self, entry: dict[str, Any], parts: list[dict[str, Any]]) -> ResourceInfo:
        group, version, kind = entry["group"], entry["version"], entry["kind"]
        return ResourceInfo(
            group=group,
            version=version,
            plural=entry["name"],
            kind=kind,
            namespaced=entry.get("namespaced", False),
            schema=self.schema(group, version, kind),
            singular=entry.get("singularName", ""),
            list_kind=f"{kind}List" if "list" in entry["verbs"] else "",
            verbs=tuple(entry["verbs"]),
            short_names=tuple(entry.get("shortNames", ())),
            categories=tuple(entry.get("categories", ())),
            subresources=tuple(_subresource(part) for part in parts),
        )


def _belongs(part: dict[str, Any], parent: dict[str, Any]) -> bool:
    same = part["group"] == parent["group"] and part["version"] == parent["version"]
    return bool(same and part["name"].startswith(parent["name"] + "/"))


def _subresource(entry: dict[str, Any]) -> Subresource:
    body = entry.get("body", {})
    name = entry["name"].partition("/")[2]
    return Subresource(name, entry["kind"], tuple(entry["verbs"]), body.get("group", ""), body.get("version", ""))


def _read(name: str) -> bytes:
    return importlib.resources.files(__package__).joinpath(name).read_bytes()


def described_definitions() -> dict[str, Schema]:
    """The definitions with their descriptions. Not kept: they are four times as large, and only `kubectl explain` needs them."""
    texts: dict[str, dict[str, str]] = msgspec.json.decode(_read("descriptions.json"))
    return {name: _described(definition, texts.get(name, {})) for name, definition in load().definitions.items()}


def _described(definition: Schema, texts: Mapping[str, str]) -> Schema:
    described = {**definition, "description": texts[""]} if "" in texts else dict(definition)
    if "properties" in definition:
        described["properties"] = {
            name: {**schema, "description": texts[name]} if name in texts else schema
            for name, schema in definition["properties"].items()
        }
    return described


@functools.cache
def load() -> Builtins:
    decoded = msgspec.json.decode(_read("builtins.json"))
    return Builtins(decoded["definitions"], decoded["types"])
