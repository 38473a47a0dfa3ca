"""Access reviews, impersonation and token requests, compared with the real API server."""

from __future__ import annotations

import base64
import datetime
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import multidict
import pytest
from tests.cluster.api import Api, Object
from tests.cluster.rbac_client import REVIEWS, Caller, calling

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import token_requests
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import access_reviews
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.http import impersonation


@pytest.fixture
async def caller(api: Api) -> AsyncIterator[Caller]:
    async with calling(api) as found:
        yield found


BAD_REVIEWS: tuple[Object, ...] = (
    {}, {"user": "a"}, {"groups": ["g"], "resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get"}},
    {"resourceAttributes": {"verb": "get"}}, {"user": "a", "resourceAttributes": {"verb": "get", "fieldSelector": {}}},
    {"user": "a", "resourceAttributes": {"verb": "get", "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a"}]}}},
    {"user": "a", "resourceAttributes": {"labelSelector": {"requirements": [{"key": "$", "operator": "In", "values": ["%"]}]}}},
    {"user": "a", "resourceAttributes": {"labelSelector": {
        "requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]}}},
    {"user": "a", "resourceAttributes": {"fieldSelector": {"requirements": [{"key": "", "operator": "In"}]}}},
    {"user": "a", "resourceAttributes": {"fieldSelector": {"rawSelector": "!!"}, "labelSelector": {"rawSelector": "a in"}}},
    {"user": "a", "resourceAttributes": {
        "fieldSelector": {"rawSelector": "a=b,c!=d"}, "labelSelector": {"rawSelector": "a in (b),!c"}}},
    {"user": "a", "resourceAttributes": {"fieldSelector": {"requirements": [
        {"key": "a", "operator": "In", "values": ["b"]}, {"key": "b", "operator": "Exists"}]}}},
    {"user": "a", "resourceAttributes": {"labelSelector": {"requirements": [{"key": "a", "operator": "Near", "values": ["b"]}]}}},
)  # fmt: skip


@pytest.mark.parametrize("spec", BAD_REVIEWS, ids=str)
@pytest.mark.parametrize("kind", ["SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview"])
async def test_bad_reviews_get_the_same_answer(caller: Caller, kind: str, spec: Object) -> None:
    given = {key: value for key, value in spec.items() if key not in ("user", "groups")} if kind.startswith("Self") else spec
    posted: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": given}
    place = "/namespaces/default" if kind.startswith("Local") else ""
    _, theirs = await caller.call("POST", f"{REVIEWS}{place}/{kind.lower()}s", posted)
    policy, user = RBACPolicy(), User("admin", ("system:masters",))
    try:
        if kind.startswith("Self"):
            ours = access_reviews.self_subject_access(posted, user, policy)
        elif kind.startswith("Local"):
            ours = access_reviews.local_subject_access(posted, "default", policy)
        else:
            ours = access_reviews.subject_access(posted, policy)
    except api_errors.StatusError as refused:
        ours = refused.status()
    theirs.get("metadata", {}).pop("managedFields", None)
    assert ours == theirs


IMPERSONATIONS: tuple[list[tuple[str, str]], ...] = (
    [("Impersonate-User", "ann")], [("Impersonate-User", "ann"), ("Impersonate-Group", "g"), ("Impersonate-Group", "h")],
    [("Impersonate-User", "system:serviceaccount:a:b")], [("Impersonate-User", "system:serviceaccount:a:b:c")],
    [("Impersonate-User", "system:serviceaccount:A:b")], [("Impersonate-User", "ann"), ("Impersonate-Uid", "7")],
    [("Impersonate-User", "ann"), ("Impersonate-Extra-A%2fB", "x"), ("Impersonate-Extra-A%2fB", "y")],
    [("Impersonate-User", "system:serviceaccount:a:b"), ("Impersonate-Group", "system:authenticated")],
    [("Impersonate-Group", "g")], [("Impersonate-Uid", "g")], [("Impersonate-Extra-A", "g")],
)  # fmt: skip


@pytest.mark.parametrize("headers", IMPERSONATIONS, ids=str)
async def test_impersonators_become_the_same_user(caller: Caller, headers: list[tuple[str, str]]) -> None:
    posted = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with caller.session.post(path, json=posted, headers=multidict.CIMultiDict(headers)) as response:
        text = await response.text()
    admin = User("admin", ("system:masters", "system:authenticated"))
    try:
        acting = impersonation.impersonated(admin, multidict.CIMultiDict(headers), RBACPolicy(), path)
        theirs = json.loads(text)
        ours: Any = access_reviews.self_subject(posted, acting, theirs["metadata"]["creationTimestamp"])
    except api_errors.PlainTextError as refused:
        # An invalid request is answered with 400 here, not with 500 (docs/compatibility.md).
        given = (refused.code + 100, refused.text.strip().replace("Bad Request:", "Internal Server Error:", 1))
        theirs, ours = (response.status, text.strip()), given
    assert ours == theirs


async def test_impersonators_without_rights_get_the_same_rejection(caller: Caller, api: Api, namespace: str) -> None:
    """An account's token, since who impersonates cannot impersonate an impersonator."""
    api.create(namespace, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.call("POST", api.path("serviceaccounts", namespace, "robot", "token"), asked)["status"]["token"]
    robot = User(f"system:serviceaccount:{namespace}:robot")
    context = ssl.create_default_context(cafile=str(api.session.verify))
    async with aiohttp.ClientSession(api.server, connector=aiohttp.TCPConnector(ssl=context)) as session:
        for pairs in IMPERSONATIONS[:8]:
            headers = multidict.CIMultiDict([*pairs, ("Authorization", f"Bearer {token}")])
            async with session.get("/api", headers=headers) as response:
                theirs = await response.json()
            with pytest.raises(api_errors.StatusError) as refused:
                impersonation.impersonated(robot, headers, RBACPolicy(), "/api")
            assert refused.value.status() == theirs


TOKEN_REQUESTS: tuple[Object, ...] = (
    {"spec": {}}, {"spec": {"expirationSeconds": 599}}, {"spec": {"expirationSeconds": 600}},
    {"spec": {"expirationSeconds": 1 << 33}},
    {"metadata": {"name": "x"}}, {"metadata": {"namespace": "x"}}, {"spec": {"audiences": ["a", "b"]}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "foreign"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own", "uid": "other"}}},
    {"spec": {"expirationSeconds": 3607, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own"}}},
    {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "own"}}},
    {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "none"}}},
    {"spec": {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "own"}}},
    {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "own"}}},
)  # fmt: skip


def test_token_requests_get_the_same_answer(api: Api, namespace: str) -> None:
    for document in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}},
        pod("own", "robot") | {"spec": pod("own", "robot")["spec"] | {"nodeName": "nowhere"}},
        pod("foreign", "default"),
    ):
        api.create(namespace, document)

    def lookup(plural: str, place: str, name: str) -> Object | None:
        return None if plural == "nodes" else api.find(plural, place, name)

    ours_tokens = Tokens(b"k" * 32, lookup)
    for each in TOKEN_REQUESTS:
        posted: Any = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}} | each
        response = api.session.post(api.server + api.path("serviceaccounts", namespace, "robot", "token"), json=posted)
        theirs = response.json()
        now = theirs["metadata"].get("creationTimestamp", "2020-01-01T00:00:00Z")
        asked = token_requests.TokenRequestScope(namespace, "robot", datetime.datetime.fromisoformat(now))
        try:
            ours = token_requests.issue(ours_tokens, posted, asked)
        except api_errors.StatusError as refused:
            ours = refused.status()
        assert tokenless(ours) == tokenless(theirs), each


def pod(name: str, account: str) -> Object:
    spec = {"serviceAccountName": account, "containers": [{"name": "main", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def tokenless(answer: Object) -> Object:
    """With the token's claims in its place, but for times and ids."""
    answer["metadata"].pop("managedFields", None)
    status = answer.get("status")
    if isinstance(status, dict):
        status["token"] = claims_of(status["token"])
    return answer


def claims_of(token: str) -> Object:
    part = token.split(".")[1]
    found: Object = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    begun = found.pop("iat")
    del found["jti"]
    inner = found["kubernetes.io"]
    late = {"warnafter": inner["warnafter"] - begun} if "warnafter" in inner else {}
    return found | {"exp": found["exp"] - begun, "nbf": found["nbf"] - begun, "kubernetes.io": inner | late}
