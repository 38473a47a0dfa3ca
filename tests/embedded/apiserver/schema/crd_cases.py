"""Valid and invalid CustomResourceDefinitions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

TEXT = {"type": "string"}
OBJECT = {"type": "object"}
KEPT = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
EITHER = "x-kubernetes-int-or-string"
RULES = "x-kubernetes-validations"

FIELDS: dict[str, Any] = {
    "right": TEXT,
    "no type": {},
    "a strange type": {"type": "foo"},
    "a list of nothing": {"type": "array"},
    "a list of no type": {"type": "array", "items": {}},
    "a list of several": {"type": "array", "items": [TEXT]},
    "a map of no type": {"type": "object", "additionalProperties": {}},
    "a map with properties": {"type": "object", "properties": {"x": TEXT}, "additionalProperties": TEXT},
    "a map of anything": {"type": "object", "additionalProperties": True},
    "a default of the wrong type": {"type": "string", "default": 5},
    "a default": {"type": "string", "default": "x"},
    "a default that is pruned": {"type": "object", "properties": {"x": TEXT}, "default": {"x": 1, "y": 2}},
    "a default out of range": {"type": "string", "enum": ["a"], "default": "b"},
    "a default that is no time": {"type": "string", "format": "date-time", "default": "x"},
    "no pattern": {"type": "string", "pattern": "["},
    "unique items": {"type": "array", "items": TEXT, "uniqueItems": True},
    "a reference": {"$ref": "#/x"},
    "an id": {"type": "string", "id": "x"},
    "definitions": {"type": "string", "definitions": {"x": TEXT}},
    "pattern properties": {"type": "object", "patternProperties": {"x": TEXT}},
    "the type null": {"type": "null"},
    "int or string": {"anyOf": [{"type": "integer"}, TEXT], EITHER: True},
    "int or string or anything": {EITHER: True, KEPT: True},
    "a type in a combination": {"type": "string", "anyOf": [TEXT]},
    "words in a combination": {"type": "string", "allOf": [{"description": "d", "default": "x", "nullable": True, "title": "t"}]},
    "a combination": {"type": "object", "properties": {"z": TEXT}, "oneOf": [{"properties": {"z": {"minLength": 1}}}]},
    "metadata in a combination": {"type": "object", "not": {"properties": {"metadata": {}}}},
    "a map in a combination": {"type": "object", "oneOf": [{"additionalProperties": TEXT}]},
    "preserving nothing": {KEPT: False},
    "an empty resource": {"type": "object", EMBEDDED: True},
    "a resource of no type": {EMBEDDED: True},
    "a resource that is a text": {"type": "string", EMBEDDED: True},
    "a resource that is a map": {"type": "object", EMBEDDED: True, KEPT: True, "additionalProperties": TEXT},
    "a resource with titles": {"type": "object", EMBEDDED: True, "properties": {"kind": {"type": "integer"}, "metadata": TEXT}},
    "a set that is no list": {"type": "string", LIST: "set"},
    "a set of objects": {"type": "array", "items": OBJECT, LIST: "set"},
    "a strange list type": {"type": "array", "items": TEXT, LIST: "foo"},
    "a map of texts": {"type": "array", "items": TEXT, LIST: "map"},
    "a key that is not there": {"type": "array", "items": OBJECT, LIST: "map", KEYS: ["a"]},
    "a key that is optional": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}, LIST: "map", KEYS: ["a"]},
    "strange keys": {
        "type": "array",
        "items": {**OBJECT, "properties": {"a": OBJECT, "b": {**TEXT, "nullable": True, "default": "x"}}, "required": ["a"]},
        LIST: "map",
        KEYS: ["a", "b", "a"],
    },
    "keys of no map": {"type": "array", "items": TEXT, KEYS: ["a"]},
    "keys of a set": {"type": "array", "items": TEXT, LIST: "set", KEYS: ["a"]},
    "a set of nulls": {"type": "array", "items": {**TEXT, "nullable": True}, LIST: "set"},
    "a map type of a text": {"type": "string", MAP: "atomic"},
    "a strange map type": {"type": "object", MAP: "foo"},
    "an empty rule": {"type": "string", RULES: [{"rule": ""}]},
    "an empty message": {"type": "string", RULES: [{"rule": "true", "message": " "}]},
    "a message of two lines": {"type": "string", RULES: [{"rule": "true", "message": "a\nb"}]},
    "a rule of two lines": {"type": "string", RULES: [{"rule": "true &&\ntrue"}]},
    "a strange reason": {"type": "string", RULES: [{"rule": "true", "reason": "Foo"}]},
    "a strange field path": {"type": "string", RULES: [{"rule": "true", "fieldPath": "x"}]},
}  # fmt: skip
SPECS: dict[str, Any] = {
    "no group": {"group": ""},
    "a group without a dot": {"group": "foo"},
    "a group in capitals": {"group": "A.b"},
    "no scope": {"scope": ""},
    "a strange scope": {"scope": "Foo"},
    "preserving all": {"preserveUnknownFields": True},
    "a strange conversion": {"conversion": {"strategy": "Foo"}},
    "a webhook without address": {"conversion": {"strategy": "Webhook"}},
    "a webhook without need": {"conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
}
VERSIONS: dict[str, Any] = {
    "in capitals": {"name": "V1"},
    "not stored": {"storage": False},
    "without schema": {"schema": None},
    "with an empty schema": {"schema": {}},
    "a warning without need": {"deprecationWarning": "x"},
    "scale without paths": {"subresources": {"scale": {}}},
    "scale by strange paths": {
        "subresources": {"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".spec.x", "labelSelectorPath": ".foo"}}
    },
    "scale and status": {
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.x", "statusReplicasPath": ".status.x"}}
    },
    "an empty column": {"additionalPrinterColumns": [{"name": "", "type": "", "jsonPath": ""}]},
    "a strange column": {"additionalPrinterColumns": [{"name": "a", "type": "foo", "jsonPath": "x", "format": "y"}]},
    "a selectable field": {"selectableFields": [{"jsonPath": ".spec.a"}]},
    "strange selectable fields": {
        "selectableFields": [
            {"jsonPath": path}
            for path in ("", "x", ".spec", ".metadata.name", ".spec.zz", ".spec.a", ".spec.a", ".spec.a[0]")
        ]
    },
}  # fmt: skip
NAMES: dict[str, Any] = {
    "no plural": {"plural": ""},
    "no kind": {"kind": ""},
    "a plural in capitals": {"plural": "Foo"},
    "a kind of two words": {"kind": "foo bar"},
    "strange short names": {"shortNames": ["A"]},
    "strange categories": {"categories": ["A", "b"]},
    "a list like its items": {"listKind": "Gadget"},
}


def gadgets() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": TEXT}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.checks.example"},
        "spec": {
            "group": "checks.example",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _root(crd: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in FIELDS.items():
        crd = gadgets()
        _root(crd)["properties"]["spec"]["properties"]["a"] = copy.deepcopy(field)
        yield f"a field: {name}", crd
    for title, changes, path in (("spec", SPECS, ()), ("version", VERSIONS, ("versions", 0)), ("names", NAMES, ("names",))):
        for name, change in changes.items():
            crd = gadgets()
            part: Any = crd["spec"]
            for key in path:
                part = part[key]
            part.update(copy.deepcopy(change))
            yield f"{title}: {name}", crd
    yield from _roots()


def _roots() -> Iterator[tuple[str, dict[str, Any]]]:
    changes: dict[str, Any] = {
        "a text": {"type": "string"},
        "a map": {"additionalProperties": TEXT},
        "nullable": {"nullable": True},
        "names restricted": {"properties": {"metadata": {"type": "object", "properties": {"name": TEXT}}}},
        "labels restricted": {"properties": {"metadata": {"type": "object", "properties": {"labels": OBJECT}}}},
        "titles of other types": {"properties": {"metadata": TEXT, "kind": {"type": "integer"}}},
        "titles with defaults": {"properties": {"metadata": {"type": "object", "default": {}}, "kind": {**TEXT, "default": "x"}}},
    }
    for name, change in changes.items():
        crd = gadgets()
        _root(crd).update(copy.deepcopy(change))
        yield f"the root: {name}", crd
    yield "another name", {**gadgets(), "metadata": {"name": "foo"}}
    protected = gadgets()
    protected["metadata"]["name"], protected["spec"]["group"] = "gadgets.foo.k8s.io", "foo.k8s.io"
    yield "a protected group", protected
