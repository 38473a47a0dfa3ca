"""The schemas of Kubernetes types in a job, as kube-apiserver publishes them, without descriptions."""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any

import msgspec

from traincrew.apimachinery.structural.schemas import PRESERVE
from traincrew.kinds.kind import JobKind

Schema = dict[str, Any]

MAX_CONTAINERS = 1024
"""Larger than in any pod. Without a bound the API server assumes the largest possible number of containers when it estimates the
cost of a CEL rule, and rejects the CRD."""


@functools.cache
def _read(name: str) -> bytes:
    return importlib.resources.files(__package__).joinpath(name).read_bytes()


def metric() -> Schema:
    """autoscaling/v2 MetricSpec."""
    schema: Schema = msgspec.json.decode(_read("metric_spec.json"))
    return schema


def pod_template(kind: JobKind) -> Schema:
    """PodTemplateSpec: fully typed, but open, so that a field newer than this schema reaches the pod."""
    schema: Schema = msgspec.json.decode(_read("pod_template_spec.json"))
    _open(schema)
    if kind.validation.server_rules:
        _require_containers(schema)
    return schema


@functools.cache
def pod() -> Schema:
    """The fields of a pod that come from a template."""
    schema: Schema = msgspec.json.decode(_read("pod_template_spec.json"))
    return schema


def _open(node: Schema) -> None:
    if node.get("type") == "object" and "additionalProperties" not in node:
        node[PRESERVE] = True
    for inner in (*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")):
        if inner is not None:
            _open(inner)


def _require_containers(template: Schema) -> None:
    """Requires containers, as the webhooks of the Go operators do."""
    template["required"] = ["spec"]
    containers = template["properties"]["spec"]["properties"]["containers"]
    containers |= {"minItems": 1, "maxItems": MAX_CONTAINERS}
    container = containers["items"]
    container["required"] = [*container["required"], "image"]
    container["properties"]["image"]["minLength"] = 1
