"""Writes the parts of our CRDs that Kubernetes itself defines, from a real API server's OpenAPI.

    python -m tools.kube.openapi            writes src/traincrew/validation/pod_template_spec.json and metric_spec.json

They are structural schemas as a CRD needs them: references resolved, no prose, no unions. There are no enums
either, as in the Go operators' CRDs: a value that a newer Kubernetes knows must not be refused by our schema.
Defaults are left out, because a stored job stays what its user posted; only the keys of list maps keep theirs,
since an API server insists that such a key is required or has a default.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.kube import cluster

Schema = dict[str, Any]

TARGET = Path(__file__).resolve().parents[2] / "src" / "traincrew" / "validation"
FILES = {
    "pod_template_spec.json": ("/openapi/v3/api/v1", "io.k8s.api.core.v1.PodTemplateSpec"),
    "metric_spec.json": ("/openapi/v3/apis/autoscaling/v2", "io.k8s.api.autoscaling.v2.MetricSpec"),
}

KEPT = {
    "type",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
}
DROPPED = {
    "description",
    "default",
    "enum",
    "x-kubernetes-patch-strategy",  # says again, for kubectl's older patches, what the list type says
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-unions",
}
ATOMIC_LIST = ("x-kubernetes-list-type", "atomic")

# As controller-gen writes it, so that a quantity is accepted or refused as by the Go operators' CRDs.
NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = rf"^(\+|-)?{NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{NUMBER}))?$"
NUMBER_OR_TEXT: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
TEXT: Schema = {"type": "string"}
TEXTS_BY_NAME: Schema = {"type": "object", "additionalProperties": TEXT}
WRITTEN_BY_HAND: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**NUMBER_OR_TEXT, "pattern": QUANTITY},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": NUMBER_OR_TEXT,
    # What a template may say; the other fields of an object's metadata are the API server's to write.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": TEXTS_BY_NAME,
            "finalizers": {"type": "array", "items": TEXT},
            "generateName": TEXT,
            "labels": TEXTS_BY_NAME,
            "name": TEXT,
            "namespace": TEXT,
        },
    },
}


class UnknownKeyword(Exception):
    """The OpenAPI of the API server uses a keyword that this program does not handle yet."""


def structural(named: Mapping[str, Schema], name: str) -> Schema:
    """The structural schema of a type among an OpenAPI document's `components.schemas`."""
    if name in WRITTEN_BY_HAND:
        return WRITTEN_BY_HAND[name]
    return _inline(named, named[name])


def _inline(named: Mapping[str, Schema], schema: Schema) -> Schema:
    if reference := schema.get("$ref"):
        return structural(named, reference.rpartition("/")[2])
    if "allOf" in schema:
        # OpenAPI v3 allows nothing beside a reference, so it is wrapped where a default or prose goes with it.
        (only,) = schema["allOf"]
        return _inline(named, only) | _plain({key: value for key, value in schema.items() if key != "allOf"})
    nested: Schema = {}
    if properties := schema.get("properties"):
        nested["properties"] = {key: _inline(named, value) for key, value in properties.items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            nested[keyword] = _inline(named, schema[keyword])
    rest = {key: value for key, value in schema.items() if key not in nested}
    return _with_key_defaults(_plain(rest) | nested, _items(named, schema))


def _plain(schema: Schema) -> Schema:
    if unknown := set(schema) - KEPT - DROPPED:
        raise UnknownKeyword(f"decide about {', '.join(sorted(unknown))} in {json.dumps(schema)}")
    # A list without a list type is atomic: saying so a hundred times would only make every CRD larger.
    return {key: value for key, value in schema.items() if key in KEPT and (key, value) != ATOMIC_LIST}


def _items(named: Mapping[str, Schema], schema: Schema) -> Schema:
    """The definition of a list's items as the API server gives it, with its defaults."""
    items = schema.get("items", {})
    for part in items.get("allOf", [items]):
        if "$ref" in part:
            return named[part["$ref"].rpartition("/")[2]]
    return {}


def _with_key_defaults(schema: Schema, items: Schema) -> Schema:
    optional = set(schema.get("x-kubernetes-list-map-keys", ())) - set(items.get("required", ()))
    if not optional:
        return schema
    properties = dict(schema["items"]["properties"])
    for key in optional:
        properties[key] = {**properties[key], "default": items["properties"][key]["default"]}
    return {**schema, "items": {**schema["items"], "properties": properties}}


def generate(kube: cluster.Cluster) -> dict[str, Schema]:
    """File name → schema, as this cluster's API server defines it."""
    schemas = {}
    for file, (path, name) in FILES.items():
        answer = kube.kubectl("get", "--raw", path)
        answer.check_returncode()
        schemas[file] = structural(json.loads(answer.stdout)["components"]["schemas"], name)
    return schemas


def main() -> int:
    with cluster.start() as kube:
        for file, schema in generate(kube).items():
            text = json.dumps(schema, sort_keys=True, separators=(",", ":")) + "\n"
            (TARGET / file).write_text(text)
            print(f"{TARGET / file}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
