"""Roles, bindings and questions about them, generated: the same seed gives the same."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz.attributes import Attributes, non_resource

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "*")
GROUPS = ("", "batch", "kubeflow.org", "*")
RESOURCES = ("pods", "pods/exec", "pods/log", "secrets", "jobs", "jobs/status", "mpijobs", "*/status", "*/log", "*")
NAMES = ("a", "b", "w-0")
URLS = ("/metrics", "/metrics/*", "/logs/*", "/api/*", "*")
PATHS = ("/metrics", "/metrics/x", "/metricsx", "/logs", "/logs/", "/api/v1", "/livez", "/version", "/")
PEOPLE = ("ann", "bob", "system:serviceaccount:NS:robot", "system:serviceaccount:other:robot")
TEAMS = ("red", "blue", "system:serviceaccounts:NS")


@dataclasses.dataclass(frozen=True)
class World:
    """Generated objects, all named after `prefix`, in the namespaces `prefix` and `prefix`-two."""

    prefix: str
    seed: int

    def objects(self, number: int) -> list[Object]:
        chance = random.Random(self.seed)
        found = [self._role(chance, index) for index in range(number)]
        return found + [self._binding(chance, index, number) for index in range(number)]

    def _role(self, chance: random.Random, index: int) -> Object:
        clustered = index % 2 == 0
        metadata = {"name": f"{self.prefix}-{index}"} | ({} if clustered else {"namespace": self.prefix})
        rules = [rule(chance, urls=clustered) for _ in range(chance.randint(0, 3))]
        return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole" if clustered else "Role", "metadata": metadata, "rules": rules}

    def _binding(self, chance: random.Random, index: int, number: int) -> Object:
        clustered = index % 3 == 0
        metadata = {"name": f"{self.prefix}-{index}"} | ({} if clustered else {"namespace": self.prefix})
        to = chance.randrange(number + 2)  # the last two are not there
        kind = "ClusterRole" if clustered or to % 2 == 0 else "Role"
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding" if clustered else "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": f"{self.prefix}-{to}"},
            "subjects": [self._subject(chance, clustered) for _ in range(chance.randint(1, 2))],
        }

    def _subject(self, chance: random.Random, clustered: bool) -> Object:
        kind = chance.choice(("User", "User", "Group", "ServiceAccount"))
        if kind == "ServiceAccount":
            namespace = chance.choice((self.prefix, "other") if clustered else (self.prefix, "other", None))
            return {"kind": kind, "name": "robot"} | ({"namespace": namespace} if namespace else {})
        name = chance.choice(PEOPLE if kind == "User" else TEAMS).replace("NS", self.prefix)
        return {"kind": kind, "name": name, "apiGroup": RBAC}

    def questions(self, number: int) -> list[tuple[User, Attributes]]:
        chance = random.Random(self.seed + 1)
        return [(self.user(chance), self._asked(chance)) for _ in range(number)]

    def user(self, chance: random.Random) -> User:
        groups = [group.replace("NS", self.prefix) for group in TEAMS if chance.random() < 0.25]
        if chance.random() < 0.5:
            groups.append("system:authenticated")
        return User(chance.choice(PEOPLE).replace("NS", self.prefix), tuple(groups))

    def _asked(self, chance: random.Random) -> Attributes:
        verb = chance.choice(VERBS[:-1])
        if chance.random() < 0.15:
            return non_resource("get", chance.choice(PATHS))
        resource, _, subresource = chance.choice(
            ("pods", "pods/exec", "pods/log", "secrets", "jobs/status", "mpijobs")
        ).partition("/")
        namespace = chance.choice((self.prefix, self.prefix, f"{self.prefix}-two", ""))
        return Attributes(verb, chance.choice(GROUPS[:-1]), resource, subresource, namespace, chance.choice(("", *NAMES)))


def rule(chance: random.Random, urls: bool) -> Object:
    verbs = chance.sample(VERBS, chance.randint(1, 3))
    if urls and chance.random() < 0.25:
        return {"verbs": verbs, "nonResourceURLs": chance.sample(URLS, chance.randint(1, 2))}
    found: Object = {"verbs": verbs, "apiGroups": chance.sample(GROUPS, chance.randint(1, 2))}
    found["resources"] = chance.sample(RESOURCES, chance.randint(1, 3))
    if chance.random() < 0.25:
        found["resourceNames"] = chance.sample(NAMES, chance.randint(1, 2))
    return found
