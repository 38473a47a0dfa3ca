"""The CustomResourceDefinitions, derived from `KINDS` alone."""

from __future__ import annotations

import functools
from typing import Any

from traincrew.kinds import KINDS, elasticity, validation_rules
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.validation import pod_template_schema, run_policy_schema, status_schema, struct_schema

Schema = dict[str, Any]

_TEMPLATE = "The template of the pods. Run `kubectl explain pod.spec` for the fields of its spec."
MAX_ROLES = 64
"""More replica types than any kind has. Without this bound the API server overestimates the cost of the CEL rules and rejects the
CRD."""


def crds() -> list[Schema]:
    return [crd(kind) for kind in KINDS]


def crd(kind: JobKind) -> Schema:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{jobs.GROUP}"},
        "spec": {
            "group": jobs.GROUP,
            "names": _names(kind),
            "scope": "Namespaced",
            "conversion": {"strategy": "None"},
            "versions": [_version(kind, version) for version in versions(kind)],
        },
    }


def _names(kind: JobKind) -> Schema:
    return {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "categories": ["kubeflow", "training"],
        **({"shortNames": list(kind.crd.short_names)} if kind.crd.short_names else {}),
    }


def versions(kind: JobKind) -> list[str]:
    """The served versions, the storage version first."""
    return [kind.version, *kind.variants]


def _version(kind: JobKind, version: str) -> Schema:
    return {
        "name": version,
        "served": True,
        "storage": version == kind.version,
        "schema": {"openAPIV3Schema": openapi(kind.plural, version)},
        "subresources": {"status": {}, **({"scale": scale(kind)} if kind.crd.scalable else {})},
        "additionalPrinterColumns": [*(_COLUMNS[name] for name in kind.crd.columns), *_wide_columns(kind)],
    }


_COLUMNS = {
    "State": {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
    "Age": {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
}
_ELASTIC = {"name": "Elastic", "type": "string", "priority": 1, "jsonPath": ".status.elastic.workers"}
_WIDE_COLUMNS = (
    {"name": "Why", "type": "string", "priority": 1, "jsonPath": ".status.why.reason"},
    {"name": "Message", "type": "string", "priority": 1, "jsonPath": ".status.why.message"},
)


def _wide_columns(kind: JobKind) -> tuple[Schema, ...]:
    """The number of workers, as `traincrew scale` counts them. Elastic jobs show how many they have, and their bounds."""
    workers = {"name": "Workers", "type": "integer", "priority": 1, "jsonPath": scale(kind)["specReplicasPath"]}
    is_elastic = any(each.lifecycle.elastic is not elasticity.fixed for each in (kind, *kind.variants.values()))
    return (workers, *((_ELASTIC,) if is_elastic else ()), *_WIDE_COLUMNS)


def scale(kind: JobKind) -> Schema:
    return {
        "specReplicasPath": f".spec.{kind.replicas_field}.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.selector" if kind.crd.selector_in_status else ".status.replicaStatuses.Worker.selector",
    }


@functools.cache
def openapi(plural: str, version: str) -> Schema:
    """The schema of a version of a resource. It is shared: do not change it."""
    kind = next(kind for kind in KINDS if kind.plural == plural)
    nodes = _nodes(kind, kind.variants.get(version, kind))
    for rule in validation_rules.cel_rules(kind):
        entry = {"rule": rule.cel, "message": rule.message}
        nodes[rule.at].setdefault("x-kubernetes-validations", []).append(entry)
    return nodes["object"]


def _nodes(kind: JobKind, variant: JobKind) -> dict[str, Schema]:
    """The schema as `object`, and the nodes inside it to which rules are attached, by their names in `Rule.at`."""
    template = pod_template_schema.pod_template(kind)
    replicas = _replicas(kind, template)
    policy = run_policy_schema.run_policy()
    fields = struct_schema.own_fields(kind.spec, jobs.JobSpec)
    own = {name: {**_resolved(node), **variant.crd.version_schema.get(name, {})} for name, node in fields.items()}
    properties = {kind.replicas_field: replicas, "runPolicy": policy, **run_policy_schema.legacy(), **own}
    description = "The desired state of the job: its pods and the policy for their runtime."
    spec = {"type": "object", "description": description, "required": [kind.replicas_field], "properties": properties}
    root = {
        "type": "object",
        "description": f"{kind.kind} is a distributed training job with pods of the types {_role_names(kind)}.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status_schema.status(),
        },
    }
    return {
        "object": root,
        "spec": spec,
        "policy": policy,
        "queue": policy["properties"]["schedulingPolicy"]["properties"]["queue"],
        "replicas": replicas,
        "template-spec": template["properties"]["spec"],
    }


def _role_names(kind: JobKind) -> str:
    return ", ".join(role.name for role in kind.roles)


def _replicas(kind: JobKind, template: Schema) -> Schema:
    entry: Schema = {
        "type": "object",
        "properties": {
            "replicas": {**run_policy_schema.INT32, "description": "The number of pods."},
            "restartPolicy": {
                **run_policy_schema.STRING,
                "description": "The policy for failed pods: Always, OnFailure, Never or ExitCode.",
            },
            "template": {"description": _TEMPLATE, **template},
        },
    }
    replicas: Schema = {
        "type": "object",
        "description": f"The pods of the job, by replica type: {_role_names(kind)}.",
        "additionalProperties": entry,
    }
    if kind.validation.server_rules:
        entry["required"] = ["template"]
        replicas["maxProperties"] = MAX_ROLES
    return replicas


def _resolved(node: Any) -> Any:
    if isinstance(node, list):
        return [_resolved(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    if node.get("$ref") == "MetricSpec":
        return pod_template_schema.metric()
    return {key: _resolved(inner) for key, inner in node.items()}
