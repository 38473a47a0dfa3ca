"""Impersonated requests to the real API server, and RBAC objects for them."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import multidict
from tests.cluster.api import Api, Object
from tests.embedded.apiserver.auth import rbac_generator

from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.http import impersonation

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"


def headers_of(user: User) -> multidict.CIMultiDict[str]:
    return multidict.CIMultiDict([("Impersonate-User", user.name), *(("Impersonate-Group", group) for group in user.groups)])


class Caller:
    """A client of the administrator that impersonates other users."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def call(self, verb: str, path: str, body: Any = None, user: User | None = None) -> tuple[int, Object]:
        headers = headers_of(user) if user else multidict.CIMultiDict()
        async with self.session.request(verb, path, json=body, headers=headers) as response:
            text = await response.text()
        try:
            found = json.loads(text)
        except ValueError:
            found = text
        return response.status, found if isinstance(found, dict) else {"message": text}


@contextlib.asynccontextmanager
async def calling(api: Api) -> AsyncIterator[Caller]:
    context = ssl.create_default_context(cafile=str(api.session.verify))
    assert isinstance(api.session.cert, tuple)
    context.load_cert_chain(*api.session.cert)
    connector = aiohttp.TCPConnector(limit=32, ssl=context)
    async with aiohttp.ClientSession(api.server, connector=connector) as session:
        yield Caller(session)


def sentinels(namespace: str) -> list[Object]:
    """Created last, one of each kind: once these are effective, all others are."""
    rules = [{"verbs": ["guard"], "apiGroups": [""], "resources": ["pods"]}]
    found = []
    for kind, name, place in (("Role", "guard", namespace), ("ClusterRole", f"{namespace}-guard", "")):
        metadata = {"name": name} | ({"namespace": place} if place else {})
        subject = {"kind": "User", "name": f"{namespace}-guard", "apiGroup": rbac_generator.RBAC}
        reference = {"kind": kind, "name": name, "apiGroup": rbac_generator.RBAC}
        found.append({"apiVersion": f"{rbac_generator.RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules})
        binding = {"apiVersion": f"{rbac_generator.RBAC}/v1", "kind": f"{kind}Binding", "metadata": metadata}
        found.append(binding | {"roleRef": reference, "subjects": [subject]})
    return found


def review(user: str, namespace: str) -> Object:
    asked = {"verb": "guard", "resource": "pods", "namespace": namespace}
    spec = {"user": user, "resourceAttributes": asked}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def collection(document: Object) -> str:
    namespace = document["metadata"].get("namespace")
    return f"{RBAC}{f'/namespaces/{namespace}' if namespace else ''}/{document['kind'].lower()}s"


def subject_review(user: User, asked: Attributes) -> Object:
    if asked.path:
        about: Object = {"nonResourceAttributes": {"path": asked.path, "verb": asked.verb}}
    else:
        names = ("verb", "group", "resource", "subresource", "namespace", "name")
        about = {"resourceAttributes": {name: getattr(asked, name) for name in names if getattr(asked, name)}}
    spec = {"user": user.name, "groups": list(user.groups)} | about
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def impersonated(user: User) -> User:
    """The user as the API server sees it: with the groups of service accounts and of authenticated users."""
    admin = User("admin", ("system:masters",))
    return impersonation.impersonated(admin, headers_of(user), RBACPolicy(), "")


def reasonless(status: Object) -> Object:
    message, _, reason = status["message"].partition(": RBAC: ")
    return {**status, "details": status.get("details", {}), "message": message, "why": reasons({"reason": reason})}


def reasons(status: Object) -> set[str]:
    """The missing roles are listed in any order."""
    return set(status.get("reason", "").removeprefix("RBAC: ").strip("[]").split(", "))
