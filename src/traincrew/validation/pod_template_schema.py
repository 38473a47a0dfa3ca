"""The schemas of Kubernetes' own types that a job holds, as a real API server publishes them, without prose."""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any

import msgspec

from traincrew.apimachinery.structural.schemas import PRESERVE
from traincrew.kinds.kind import JobKind

Schema = dict[str, Any]

MAX_CONTAINERS = 1024
"""No pod comes near this. Without a bound the API server assumes as many containers as fit into a request when it estimates what
a CEL rule over them costs, and refuses the CRD."""


@functools.cache
def _read(name: str) -> bytes:
    return importlib.resources.files(__package__).joinpath(name).read_bytes()


def metric() -> Schema:
    """autoscaling/v2 MetricSpec."""
    found: Schema = msgspec.json.decode(_read("metrics.json"))
    return found


def pod_template(kind: JobKind) -> Schema:
    """PodTemplateSpec: typed in full, yet open, so that a field newer than this schema reaches the pod."""
    found: Schema = msgspec.json.decode(_read("podtemplate.json"))
    _open(found)
    if kind.validation.server_rules:
        _demand_containers(found)
    return found


def _open(node: Schema) -> None:
    if node.get("type") == "object" and "additionalProperties" not in node:
        node[PRESERVE] = True
    for inner in (*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")):
        if inner is not None:
            _open(inner)


def _demand_containers(template: Schema) -> None:
    """What the Go operators' webhooks demand of every template."""
    template["required"] = ["spec"]
    containers = template["properties"]["spec"]["properties"]["containers"]
    containers |= {"minItems": 1, "maxItems": MAX_CONTAINERS}
    container = containers["items"]
    container["required"] = [*container["required"], "image"]
    container["properties"]["image"]["minLength"] = 1
