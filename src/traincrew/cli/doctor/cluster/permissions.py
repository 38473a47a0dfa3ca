"""Asks the API server whether the service account of the operator has every permission that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.cli.doctor.finding import Finding, fail, ok, warn
from traincrew.cli.installation.deployments import Deployment
from traincrew.client import interfaces
from traincrew.model.resources import Resource
from traincrew.validation import rbac_manifests

REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
NAMED = 3
"""Missing permissions that the message names."""


class Permission(NamedTuple):
    verb: str
    group: str
    resource: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


def needed(deployment: Deployment) -> Iterator[Permission]:
    """What an operator with these flags needs. Rules for resources that its flags exclude are needed by nobody."""
    for namespace in deployment.flags("namespace") or ("",):
        for rule in rbac_manifests.operator_rules():
            yield from _permissions(rule, namespace)
    for rule in rbac_manifests.own_namespace_rules():
        yield from _permissions(rule, deployment.flag("leader-election-namespace") or deployment.metadata.namespace)


def _permissions(rule: dict[str, Any], namespace: str) -> Iterator[Permission]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", ("",)):
                    yield Permission(verb, group, resource, name, namespace)


async def check(client: interfaces.Writer, deployment: Deployment) -> Finding:
    account = deployment.spec.template.spec.service_account_name or "default"
    user = f"system:serviceaccount:{deployment.metadata.namespace}:{account}"
    asked = list(needed(deployment))
    try:
        allowed = await asyncio.gather(*(_is_allowed(client, user, each) for each in asked))
    except errors.ApiError as error:
        return warn("rbac", f"not known: {error.message}", "Ask an administrator to run this command.")
    denied = [str(each) for each, yes in zip(asked, allowed, strict=True) if not yes]
    if not denied:
        return ok("rbac", f"{user} has all {len(asked)} permissions")
    more = f" and {len(denied) - NAMED} more" if len(denied) > NAMED else ""
    remedy = "Apply the RBAC rules of this version (`traincrew manifests rbac`), or upgrade the chart."
    return fail("rbac", f"{user} must not {', '.join(denied[:NAMED])}{more}", remedy)


async def _is_allowed(client: interfaces.Writer, user: str, wanted: Permission) -> bool:
    resource, _, subresource = wanted.resource.partition("/")
    attributes = {
        "verb": wanted.verb, "group": wanted.group, "resource": resource, "subresource": subresource,
        "name": wanted.name, "namespace": wanted.namespace,
    }  # fmt: skip
    _, _, namespace, _ = user.split(":")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": spec}
    answer = msgspec.json.decode(await client.create(REVIEWS, None, msgspec.json.encode(body)))
    return bool(answer["status"]["allowed"])
