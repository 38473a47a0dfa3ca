"""The parts of charts/traincrew/values.schema.json that follow from the code: the kinds, and the types of Kubernetes.

The types are those of pod templates in our CRDs, and closed: a misspelt key is refused before anything is installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from traincrew.kinds import KINDS
from traincrew.validation import pod_template_schema

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_PORT: Schema = {"type": ["integer", "string"]}


def write(path: Path) -> None:
    schema = json.loads(path.read_text())
    schema["properties"]["enabledKinds"]["items"]["enum"] = [kind.kind for kind in KINDS]
    schema["definitions"] = definitions()
    path.write_text(json.dumps(schema, indent=2) + "\n")


def definitions() -> Schema:
    """By the names of Kubernetes. The other properties of the schema refer to them."""
    pod = pod_template_schema.pod()["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    types = {
        "PodSecurityContext": pod["securityContext"],
        "SecurityContext": container["securityContext"],
        "Affinity": pod["affinity"],
        "Toleration": pod["tolerations"]["items"],
        "TopologySpreadConstraint": pod["topologySpreadConstraints"]["items"],
        "ResourceRequirements": container["resources"],
        "VolumeMount": container["volumeMounts"]["items"],
        "LabelSelector": pod["topologySpreadConstraints"]["items"]["properties"]["labelSelector"],
    }
    return {name: _closed(node) for name, node in types.items()} | _network_policy_types()


def _network_policy_types() -> Schema:
    """networking.k8s.io/v1, which no pod template has."""
    selector, peer = ({"$ref": f"#/definitions/{name}"} for name in ("LabelSelector", "NetworkPolicyPeer"))
    block = _object({"cidr": _STRING, "except": _list(_STRING)}, "cidr")
    port = _object({"port": _PORT, "endPort": {"type": "integer"}, "protocol": {"enum": ["TCP", "UDP", "SCTP"]}})
    return {
        "NetworkPolicyPeer": _object({"podSelector": selector, "namespaceSelector": selector, "ipBlock": block}),
        "NetworkPolicyEgressRule": _object({"ports": _list(port), "to": _list(peer)}),
    }


def _closed(node: Schema) -> Schema:
    """In the vocabulary of JSON Schema. An object of a type has its own keys alone, a map has any."""
    if "properties" in node:
        return _object({key: _closed(each) for key, each in node["properties"].items()}, *node.get("required", ()))
    if "items" in node:
        return _list(_closed(node["items"]))
    if "additionalProperties" in node:
        return {"type": "object", "additionalProperties": _closed(node["additionalProperties"])}
    if node.get("x-kubernetes-int-or-string"):
        # A quantity may be 0.5: Helm writes it as text.
        return {"type": ["number", "string"], "pattern": node["pattern"]} if "pattern" in node else _PORT
    return {"type": node["type"]}


def _object(properties: Schema, *required: str) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return found | ({"required": list(required)} if required else {})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}
