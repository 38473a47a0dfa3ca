"""The default ClusterRoles and ClusterRoleBindings of kube-apiserver, without those of its controllers."""

from __future__ import annotations

import pathlib

import msgspec

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authz import policy_rules, role_aggregation

_FILE = pathlib.Path(__file__).with_name("bootstrap.json")


def objects() -> list[Object]:
    """Without uid, resourceVersion and creationTimestamp; aggregated roles include their aggregated rules."""
    decoded: list[Object] = msgspec.json.decode(_FILE.read_bytes())
    roles = {each["metadata"]["name"]: each for each in decoded if each["kind"] == "ClusterRole"}
    settled = role_aggregation.aggregate(roles, {name: policy_rules.of(role) for name, role in roles.items()})
    for name, role in roles.items():
        role["rules"] = [policy_rules.document(rule) for rule in settled[name]]
    return decoded
