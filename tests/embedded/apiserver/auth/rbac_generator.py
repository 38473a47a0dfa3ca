"""Generates roles, bindings and requests from a seed."""

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
USERS = ("ann", "bob", "system:serviceaccount:NS:robot", "system:serviceaccount:other:robot")
USER_GROUPS = ("red", "blue", "system:serviceaccounts:NS")


@dataclasses.dataclass(frozen=True)
class RbacGenerator:
    """Objects named after `prefix`, in the namespaces `prefix` and `prefix`-two."""

    prefix: str
    seed: int

    def objects(self, number: int) -> list[Object]:
        rng = random.Random(self.seed)
        roles = [self._role(rng, index) for index in range(number)]
        return roles + [self._binding(rng, index, number) for index in range(number)]

    def _role(self, rng: random.Random, index: int) -> Object:
        clustered = index % 2 == 0
        metadata = {"name": f"{self.prefix}-{index}"} | ({} if clustered else {"namespace": self.prefix})
        rules = [rule(rng, urls=clustered) for _ in range(rng.randint(0, 3))]
        return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole" if clustered else "Role", "metadata": metadata, "rules": rules}

    def _binding(self, rng: random.Random, index: int, number: int) -> Object:
        clustered = index % 3 == 0
        metadata = {"name": f"{self.prefix}-{index}"} | ({} if clustered else {"namespace": self.prefix})
        to = rng.randrange(number + 2)  # the last two roles do not exist
        kind = "ClusterRole" if clustered or to % 2 == 0 else "Role"
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding" if clustered else "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": f"{self.prefix}-{to}"},
            "subjects": [self._subject(rng, clustered) for _ in range(rng.randint(1, 2))],
        }

    def _subject(self, rng: random.Random, clustered: bool) -> Object:
        kind = rng.choice(("User", "User", "Group", "ServiceAccount"))
        if kind == "ServiceAccount":
            namespace = rng.choice((self.prefix, "other") if clustered else (self.prefix, "other", None))
            return {"kind": kind, "name": "robot"} | ({"namespace": namespace} if namespace else {})
        name = rng.choice(USERS if kind == "User" else USER_GROUPS).replace("NS", self.prefix)
        return {"kind": kind, "name": name, "apiGroup": RBAC}

    def requests(self, number: int) -> list[tuple[User, Attributes]]:
        rng = random.Random(self.seed + 1)
        return [(self.user(rng), self._attributes(rng)) for _ in range(number)]

    def user(self, rng: random.Random) -> User:
        groups = [group.replace("NS", self.prefix) for group in USER_GROUPS if rng.random() < 0.25]
        if rng.random() < 0.5:
            groups.append("system:authenticated")
        return User(rng.choice(USERS).replace("NS", self.prefix), tuple(groups))

    def _attributes(self, rng: random.Random) -> Attributes:
        verb = rng.choice(VERBS[:-1])
        if rng.random() < 0.15:
            return non_resource("get", rng.choice(PATHS))
        resource, _, subresource = rng.choice(("pods", "pods/exec", "pods/log", "secrets", "jobs/status", "mpijobs")).partition(
            "/"
        )
        namespace = rng.choice((self.prefix, self.prefix, f"{self.prefix}-two", ""))
        return Attributes(verb, rng.choice(GROUPS[:-1]), resource, subresource, namespace, rng.choice(("", *NAMES)))


def rule(rng: random.Random, urls: bool) -> Object:
    verbs = rng.sample(VERBS, rng.randint(1, 3))
    if urls and rng.random() < 0.25:
        return {"verbs": verbs, "nonResourceURLs": rng.sample(URLS, rng.randint(1, 2))}
    policy_rule: Object = {"verbs": verbs, "apiGroups": rng.sample(GROUPS, rng.randint(1, 2))}
    policy_rule["resources"] = rng.sample(RESOURCES, rng.randint(1, 3))
    if rng.random() < 0.25:
        policy_rule["resourceNames"] = rng.sample(NAMES, rng.randint(1, 2))
    return policy_rule
