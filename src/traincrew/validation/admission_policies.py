"""The ValidatingAdmissionPolicy that warns about misspelt fields of pod templates, derived from `KINDS` and the schema of pods.

The CRDs preserve unknown fields, and CEL rules of a CRD do not see them. The CEL of a policy does.
"""

from __future__ import annotations

import json
from typing import Any

from traincrew.kinds import KINDS
from traincrew.model import jobs
from traincrew.validation import pod_template_schema

Manifest = dict[str, Any]
NAME = "traincrew-pod-template-fields"

_LEVELS: tuple[tuple[str, str, str], ...] = (
    ("template", "variables.templates", ""),
    ("pod spec", "variables.pods", "spec"),
    ("volume", "variables.pods.filter(p, has(p.volumes)).map(p, p.volumes)", "spec.volumes"),
    ("container", "variables.containers", "spec.containers"),
    ("resources", "variables.containers.map(l, l.filter(c, has(c.resources)).map(c, c.resources))", "spec.containers.resources"),
    (
        "securityContext",
        "variables.containers.map(l, l.filter(c, has(c.securityContext)).map(c, c.securityContext))",
        "spec.containers.securityContext",
    ),
)
"""Name, a list of objects or a list of lists of objects in CEL, and the path of their schema."""
_LISTS_OF_LISTS = ("volume", "container", "resources", "securityContext")


def documents() -> list[Manifest]:
    return [_policy(), _binding()]


def _policy() -> Manifest:
    rule = {
        "apiGroups": [jobs.GROUP],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [kind.plural for kind in KINDS],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [rule]},
            "variables": _variables(),
            "validations": [_validation(*level) for level in _LEVELS],
        },
    }


def _binding() -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Warn"]},
    }


def _variables() -> list[Manifest]:
    fields = dict.fromkeys(kind.replicas_field for kind in KINDS)
    replicas = " : ".join([*(f"has(object.spec.{field}) ? object.spec.{field}" for field in fields), "{}"])
    expressions = {
        "replicas": replicas,
        "templates": "variables.replicas.map(r, variables.replicas[r]).filter(r, has(r.template)).map(r, r.template)",
        "pods": "variables.templates.filter(t, has(t.spec)).map(t, t.spec)",
        "containers": "variables.pods.map(p, (has(p.containers) ? p.containers : []) + "
        "(has(p.initContainers) ? p.initContainers : []))",
    }
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _validation(name: str, objects: str, path: str) -> Manifest:
    known = json.dumps(sorted(_fields(path))).replace('"', "'")
    unknown = f"o.map(k, k).filter(k, !(k in {known}))"
    if name in _LISTS_OF_LISTS:
        valid = f"{objects}.all(l, l.all(o, o.all(k, k in {known})))"
        names = f"{objects}.map(l, l.map(o, {unknown}.join(', ')).filter(s, s != '').join(', ')).filter(s, s != '').join(', ')"
    else:
        valid = f"{objects}.all(o, o.all(k, k in {known}))"
        names = f"{objects}.map(o, {unknown}.join(', ')).filter(s, s != '').join(', ')"
    text = f"unknown field in a {name} of a pod template: "
    remedy = ". Check the spelling: the pods are rejected unless this is a new field of Kubernetes."
    return {"expression": valid, "messageExpression": f"'{text}' + {names} + '{remedy}'"}


def _fields(path: str) -> list[str]:
    node = pod_template_schema.pod()
    for name in filter(None, path.split(".")):
        node = node["properties"][name]
        node = node.get("items", node)
    return list(node["properties"])
