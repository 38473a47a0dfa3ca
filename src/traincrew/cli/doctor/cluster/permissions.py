"""Asks the API server whether the service account of the operator has every permission that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew import errors, settings
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.cli.installation.deployments import Deployment
from traincrew.client import interfaces
from traincrew.model.resources import Resource
from traincrew.planner import gang
from traincrew.validation import required_permissions
from traincrew.validation.required_permissions import Permissions, PermissionTarget

REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
NAMED = 3
"""Missing permissions that the message names."""


class Permission(NamedTuple):
    verb: str
    target: PermissionTarget
    namespace: str = ""
    """Empty: in all namespaces."""

    def __str__(self) -> str:
        return f"{self.verb} {self.target.plural}" + (f".{self.target.group}" if self.target.group else "")


def needed(deployment: Deployment, *, sharing: bool) -> Iterator[Permission]:
    """What an operator with these flags and variables needs. sharing: it chooses the workers of elastic jobs."""
    scheduler = deployment.gang_scheduler
    gangs = [
        name for name, group in required_permissions.GANG_SCHEDULERS.items() if scheduler and group == gang.resource(scheduler)
    ]
    for namespace in deployment.namespaces or ("",):
        yield from _each(required_permissions.operator_permissions(deployment.kinds, gangs), namespace)
    if deployment.has_flag("leader-elect"):
        place = deployment.flag("leader-election-namespace") or deployment.metadata.namespace
        yield from _each(required_permissions.own_namespace_permissions(), place)
    if deployment.has_flag("metrics-authentication"):
        yield from _each(required_permissions.metrics_permissions())
    if sharing:
        yield from _each(required_permissions.sharing_permissions())


def _each(permissions: Permissions, namespace: str = "") -> Iterator[Permission]:
    for target, verbs in permissions.items():
        for verb in verbs:
            yield Permission(verb, target, namespace)


async def check(client: interfaces.Client, deployment: Deployment) -> CheckResult:
    account = deployment.spec.template.spec.service_account_name or "default"
    user = f"system:serviceaccount:{deployment.metadata.namespace}:{account}"
    try:
        asked = list(needed(deployment, sharing=await _shares(client)))
        allowed = await asyncio.gather(*(_is_allowed(client, user, each) for each in asked))
    except errors.ApiError as error:
        return warn("rbac", f"not known: {error.message}", "Ask an administrator to run this command.")
    denied = [str(each) for each, yes in zip(asked, allowed, strict=True) if not yes]
    if not denied:
        return ok("rbac", f"{user} has all {len(asked)} permissions")
    more = f" and {len(denied) - NAMED} more" if len(denied) > NAMED else ""
    remedy = "Apply the RBAC rules of this version (`traincrew manifests rbac`), or upgrade the chart."
    return fail("rbac", f"{user} cannot {', '.join(denied[:NAMED])}{more}", remedy)


async def _shares(reader: interfaces.Reader) -> bool:
    """The PriorityClass of workers on idle capacity is installed with the permissions to use it, and no flag shows it."""
    try:
        await reader.get(PRIORITY_CLASSES, None, settings.Planning().surplus_class)
    except errors.NotFound:
        return False
    return True


async def _is_allowed(client: interfaces.Writer, user: str, wanted: Permission) -> bool:
    resource, _, subresource = wanted.target.plural.partition("/")
    attributes = {
        "verb": wanted.verb, "group": wanted.target.group, "resource": resource, "subresource": subresource,
        "name": wanted.target.name, "namespace": wanted.namespace,
    }  # fmt: skip
    _, _, namespace, _ = user.split(":")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": spec}
    answer = msgspec.json.decode(await client.create(REVIEWS, None, msgspec.json.encode(body)))
    return bool(answer["status"]["allowed"])
