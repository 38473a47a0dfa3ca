"""Generates random objects of a schema, some of them invalid."""

from __future__ import annotations

import json
import random
from typing import Any

ODD: tuple[Any, ...] = (
    "x", "", 5, -1, 1.5, True, None, [], {}, ["a"], {"a": "b"}, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456Z", "1Gi",
    "YQ==", 99999999999, [None], [{}], {"x": None}, "2020-1-1", "0x",
)  # fmt: skip
FORMATS: dict[str, tuple[Any, ...]] = {
    "quantity": ("1", "500m", "1Gi", 2, 1.5, "0100m", "1e3", "abc", ""),
    "int-or-string": (1, "x", "50%", 80),
    "date-time": (
        "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+02:00", "2020-01-01", "2020-13-01T00:00:00Z", "2020-01-01T25:00:00Z",
    ),
    "micro-time": ("2020-01-01T00:00:00.000000Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.1Z"),
    "byte": ("YQ==", "YQ", "!"),
}  # fmt: skip
TYPES: dict[str, tuple[Any, ...]] = {
    "string": ("a", "b", "x"),
    "boolean": (True, False),
    "integer": (0, 1, 5, 80),
    "number": (1, 2.5),
}
KINDS = (
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Service", "services"),
    ("apps", "v1", "Deployment", "deployments"),
    ("batch", "v1", "Job", "jobs"),
    ("batch", "v1", "CronJob", "cronjobs"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    ("coordination.k8s.io", "v1", "Lease", "leases"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("", "v1", "Event", "events"),
    ("", "v1", "Secret", "secrets"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses"),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    ("", "v1", "ResourceQuota", "resourcequotas"),
    ("", "v1", "LimitRange", "limitranges"),
)
"""Group, version, kind and plural of the generated kinds."""


def sample(rng: random.Random, schema: dict[str, Any], depth: int = 9) -> Any:
    if rng.random() < 0.04:
        return rng.choice(ODD)
    if schema.get("format") in FORMATS:
        return rng.choice(FORMATS[schema["format"]])
    kind = schema.get("type", "")
    if kind in TYPES:
        return rng.choice(TYPES[kind])
    if kind == "array":
        return [sample(rng, schema["items"], depth - 1) for _ in range(rng.randrange(3))]
    if "additionalProperties" in schema:
        keys = rng.sample(("a", "b", "cpu"), rng.randrange(3))
        return {key: sample(rng, schema["additionalProperties"], depth - 1) for key in keys}
    return _object(rng, schema, depth) if depth else {}


def _object(rng: random.Random, schema: dict[str, Any], depth: int) -> dict[str, Any]:
    names = list(schema.get("properties", {}))
    chosen = rng.sample(names, min(len(names), rng.randrange(1, 5)))
    fields = {name: sample(rng, schema["properties"][name], depth - 1) for name in chosen}
    return {**fields, "bogus": 1} if rng.random() < 0.05 else fields


def manifest(seed: int, schema: dict[str, Any], api_version: str, kind: str) -> str:
    """The text of an object of a kind; the same seed gives the same text."""
    rng = random.Random(seed)
    obj = sample(rng, schema)
    obj = obj if isinstance(obj, dict) else {}
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"].pop("namespace", None)
    text = json.dumps({**obj, "apiVersion": api_version, "kind": kind})
    return text.replace('"a"', '"b"') if rng.random() < 0.1 else text
