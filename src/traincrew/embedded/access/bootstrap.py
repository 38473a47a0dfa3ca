"""The ClusterRoles and ClusterRoleBindings that a cluster begins with: a real server's, but for those of its controllers."""

from __future__ import annotations

import pathlib

import msgspec

from traincrew.embedded.access import aggregation, rules
from traincrew.embedded.served import Object

_FILE = pathlib.Path(__file__).with_name("bootstrap.json")


def objects() -> list[Object]:
    """Without uid, resourceVersion and creationTimestamp; the gathering roles with what they gather."""
    found: list[Object] = msgspec.json.decode(_FILE.read_bytes())
    roles = {each["metadata"]["name"]: each for each in found if each["kind"] == "ClusterRole"}
    settled = aggregation.settled(roles, {name: rules.of(role) for name, role in roles.items()})
    for name, role in roles.items():
        role["rules"] = [rules.document(rule) for rule in settled[name]]
    return found
