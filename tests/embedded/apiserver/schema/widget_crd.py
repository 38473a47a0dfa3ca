"""A CustomResourceDefinition that uses most schema keywords, and values of every type for its fields."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.schema import crds

GROUP = "schemas.example"
TEXT = {"type": "string"}
FORMATS = (
    "date-time", "duration", "uuid", "ipv4", "ipv6", "date", "uri", "email", "byte", "hostname", "cidr", "mac", "password",
)  # fmt: skip
RULES = [
    {"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min above max"},
    {
        "rule": "!has(self.max) || self.max < 100",
        "messageExpression": "'max is %d'.format([self.max])",
        "fieldPath": ".max",
        "reason": "FieldValueForbidden",
    },
    {"rule": "!has(self.min) || self.min > -100"},
]
FIELDS: dict[str, Any] = {
    "size": {"type": "integer", "minimum": 1, "maximum": 10},
    "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
    "ratio": {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": True, "minimum": 0},
    **{name.replace("-", ""): {"type": "string", "format": name} for name in FORMATS},
    "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "minItems": 1, "maxItems": 3},
    "ports": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": TEXT, "port": {"type": "integer"}, "proto": {"type": "string", "default": "TCP"}},
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "proto"],
    },
    "labels": {"type": "object", "additionalProperties": TEXT, "maxProperties": 2, "minProperties": 1},
    "anything": {"x-kubernetes-preserve-unknown-fields": True},
    "open": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "integer"}, "b": {"type": "object", "properties": {"c": TEXT}}},
    },
    "number-or-text": {"x-kubernetes-int-or-string": True},
    "percent": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "pattern": "^[0-9]+%?$",
    },
    "nothing": {"type": "string", "nullable": True},
    "nothing-or-default": {"type": "string", "nullable": True, "default": "d"},
    "defaulted": {"type": "string", "default": "d"},
    "resource": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {
            "apiVersion": TEXT,
            "kind": TEXT,
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
            "spec": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    },
    "one": {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "some": {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "all": {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 7}]},
    "none": {"type": "string", "not": {"pattern": "^x"}},
    "flag": {"type": "boolean"},
    "nested": {
        "type": "object",
        "default": {"a": 1},
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "bb"}},
    },
    "lists": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "ruled": {
        "type": "object",
        "properties": {
            "min": {"type": "integer"},
            "max": {"type": "integer"},
            "fixed": {
                "type": "string",
                "maxLength": 64,
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
            },
        },
        "x-kubernetes-validations": RULES,
    },
    "ruled-map": {
        "type": "object",
        "maxProperties": 10,
        "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]},
    },
    "ruled-list": {
        "type": "array",
        "maxItems": 10,
        "items": {"type": "string", "maxLength": 10},
        "x-kubernetes-validations": [{"rule": "self.all(x, x.startsWith('a'))", "message": "all must start with a"}],
    },
    "growing": {
        "type": "integer",
        "x-kubernetes-validations": [
            {
                "rule": "!oldSelf.hasValue() || oldSelf.value() <= self",
                "optionalOldSelf": True,
                "message": "may only grow",
            }
        ],
    },
    "due": {
        "type": "object",
        "properties": {"at": {"type": "string", "format": "date-time"}, "in": {"type": "string", "format": "duration"}},
        "x-kubernetes-validations": [
            {"rule": "!has(self.at) || self.at < timestamp('2030-01-01T00:00:00Z')", "message": "too late"},
            {"rule": "!has(self.__in__) || self.__in__ < duration('1h')", "message": "too long"},
        ],
    },
}

VALUES: tuple[Any, ...] = (
    None, 5, -5, 0, 1, 2**40, 1.5, 0.25, 2.0, 1e20, True, False, "", "x", "abc", "toolong", "red",
    "2020-01-01T00:00:00Z", "2031-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01", "1h", "5 days", "10.0.0.1", "::1",
    "10.0.0.0/8", "a@b.c", "http://x/y", "YQ==", "a-b.c", "01:02:03:04:05:06", "123e4567-e89b-12d3-a456-426614174000", "5%",
    "100", "x" * 70,
    [], ["a"], ["a", "b"], ["a", "a"], ["a", "b", "c", "d"], [1], [None], [["a"]], [[1]], [[1.5]], [{}],
    [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [{"name": "a", "proto": "UDP"}, {"name": "a"}, 5], [{"port": "x"}],
    {}, {"a": "b"}, {"a": 1}, {"a": "b", "b": "c"}, {"a": "1", "b": "2", "c": "3"}, {"min": 5, "max": 1}, {"max": 500},
    {"min": -500}, {"a": None}, {"a": -1}, {"fixed": "x"}, {"fixed": "y"}, {"at": "2029-01-01T00:00:00Z", "in": "5m"},
    {"at": "2031-01-01T00:00:00Z", "in": "5h"},
    {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "toolong", "foo": 1}},
    {"apiVersion": 5, "kind": ""}, {"apiVersion": "a/b/c", "kind": "Po d", "metadata": {"name": "A/B"}},
    {"kind": "X", "spec": {"x": "s", "y": 1}}, {"b": {"c": 1, "d": 2}, "zz": [1, {"q": None}]},
)  # fmt: skip


def definition() -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": FIELDS},
            "status": {"type": "object", "properties": {"phase": TEXT, "count": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def served() -> ResourceInfo:
    crd = definition()
    crds.default(crd)
    return crds.resources(crd)[0]


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1, **spec}}
