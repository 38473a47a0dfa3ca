from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
from tests.embedded.apiserver.auth.rbac_objects import Clock, ObjectLookup, stored_object

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import jwt, token_requests, token_secrets
from traincrew.embedded.apiserver.authn.service_account_tokens import InvalidToken, Tokens
from traincrew.embedded.apiserver.authn.token_claims import AUDIENCES, ISSUER, Bound

KEY = b"k" * 32
ACCOUNT, POD, NODE, SECRET = stored_object("sa"), stored_object("pod"), stored_object("node", ""), stored_object("secret")


@pytest.fixture
def lookup() -> ObjectLookup:
    pod = POD | {"spec": {"serviceAccountName": "sa", "nodeName": "node"}}
    return ObjectLookup(serviceaccounts=[ACCOUNT], pods=[pod], nodes=[NODE], secrets=[SECRET])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(lookup: ObjectLookup, clock: Clock) -> Tokens:
    return Tokens(KEY, lookup, clock)


def verification_error(tokens: Tokens, token: str, audiences: tuple[str, ...] = AUDIENCES) -> str:
    with pytest.raises(InvalidToken) as error:
        tokens.verified(token, audiences)
    return str(error.value)


def test_a_token_names_its_account(tokens: Tokens) -> None:
    user = tokens.user(tokens.issue(ACCOUNT, 3600))
    assert user
    assert user.name == "system:serviceaccount:ns:sa"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert user.uid == "uid-of-sa"


def test_the_token_of_a_pod_names_pod_and_node(tokens: Tokens) -> None:
    user = tokens.user(tokens.issue(ACCOUNT, 3600, bound=Bound(pod=POD, node=NODE)))
    assert user
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("pod",)
    assert user.extra["authentication.kubernetes.io/pod-uid"] == ("uid-of-pod",)
    assert user.extra["authentication.kubernetes.io/node-name"] == ("node",)
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


def test_claims_are_those_of_kubernetes(tokens: Tokens, clock: Clock) -> None:
    claims = payload(tokens.issue(ACCOUNT, 600, warns=60, bound=Bound(pod=POD)))
    now = int(clock.now)
    assert claims.pop("jti")
    assert claims == {
        "aud": [ISSUER],
        "exp": now + 600,
        "iat": now,
        "nbf": now,
        "iss": ISSUER,
        "sub": "system:serviceaccount:ns:sa",
        "kubernetes.io": {
            "namespace": "ns",
            "serviceaccount": {"name": "sa", "uid": "uid-of-sa"},
            "pod": {"name": "pod", "uid": "uid-of-pod"},
            "warnafter": now + 60,
        },
    }


def payload(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def test_a_token_expires(tokens: Tokens, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 600)
    clock.now += 659
    assert tokens.user(token)
    clock.now += 2
    assert verification_error(tokens, token) == "service account token has expired"
    assert tokens.user(token) is None


def test_a_token_of_the_future_is_not_valid_yet(tokens: Tokens, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 600)
    clock.now -= 120
    assert verification_error(tokens, token) == "service account token is not valid yet"


@pytest.mark.parametrize("plural", ["serviceaccounts", "pods"])
def test_a_token_is_invalid_once_its_bound_object_is_deleted(tokens: Tokens, lookup: ObjectLookup, plural: str) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(pod=POD))
    assert tokens.user(token)
    name = {"serviceaccounts": "sa", "pods": "pod"}[plural]
    lookup.objects[plural, "ns", name] = stored_object(name, uid="another")
    assert "another) does not match" in verification_error(tokens, token)
    del lookup.objects[plural, "ns", name]
    messages = {"serviceaccounts": 'serviceaccounts "sa" not found', "pods": "service account token has been invalidated"}
    assert verification_error(tokens, token) == messages[plural]


def test_a_pod_that_is_being_deleted_keeps_its_token_for_a_minute(tokens: Tokens, lookup: ObjectLookup, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(pod=POD))
    moment = datetime.datetime.fromtimestamp(clock.now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lookup.objects["pods", "ns", "pod"] = {"metadata": POD["metadata"] | {"deletionTimestamp": moment}}
    assert tokens.user(token)
    clock.now += 61
    assert verification_error(tokens, token) == "service account token has been invalidated"


def test_a_token_bound_to_a_node_is_invalid_once_the_node_is_deleted(tokens: Tokens, lookup: ObjectLookup) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(node=NODE))
    assert tokens.user(token)
    lookup.objects.clear()
    lookup.objects["serviceaccounts", "ns", "sa"] = ACCOUNT
    assert verification_error(tokens, token) == "service account token has been invalidated"


def test_a_token_for_another_audience_is_invalid(tokens: Tokens) -> None:
    token = tokens.issue(ACCOUNT, 3600, audiences=("vault",))
    assert tokens.user(token) is None
    assert tokens.verified(token, ("vault", "x"))[1] == ("vault",)
    assert verification_error(tokens, token) == f'token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]'


def forged(token: str) -> list[str]:
    header, body, signature = token.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    other = jwt.Signer(b"x" * 32).sign(payload(token))
    changed = jwt.Signer(b"x" * 32).sign(payload(token) | {"sub": "system:serviceaccount:kube-system:admin"}).split(".")[1]
    return [
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        other,
        f"{header}.{changed}.{signature}",
        f"{header}.{body}.",
        token[:-1],
    ]


def test_forged_tokens_are_rejected(tokens: Tokens) -> None:
    token = tokens.issue(ACCOUNT, 3600)
    for attempt in forged(token):
        assert attempt != token
        assert tokens.user(attempt) is None
    assert tokens.user(token)


DEEP = base64.urlsafe_b64encode(b'{"a":' + b"[" * 100_000).decode()


@pytest.mark.parametrize(
    "nonsense",
    ["", ".", "..", "a.b.c", "é.é.é", "a.W10.c", "a.bnVsbA.c", "a.YWJj.c", "a.eyJpc3MiOjF9.c", f"a.{DEEP}.c", "\ud800",
     "a.\ud800.c", "x" * 100_000],
)  # fmt: skip
def test_malformed_tokens_are_rejected(tokens: Tokens, nonsense: str) -> None:
    assert tokens.user(nonsense) is None


def test_tokens_outlive_the_server(lookup: ObjectLookup, clock: Clock) -> None:
    token = Tokens(KEY, lookup, clock).issue(ACCOUNT, 3600)
    assert Tokens(KEY, lookup, clock).user(token)
    assert Tokens(b"o" * 32, lookup, clock).user(token) is None


def test_memory_for_tokens_is_bounded(tokens: Tokens) -> None:
    for _ in range(10_050):
        assert tokens.user(tokens.issue(ACCOUNT, 3600))
    assert len(tokens._known) <= 10_000


def token_request(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


WHO = token_requests.TokenRequestScope("ns", "sa", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


def test_a_token_request_returns_a_valid_token(tokens: Tokens) -> None:
    response = token_requests.issue(tokens, token_request({"expirationSeconds": 600}), WHO)
    assert tokens.user(response["status"]["token"])
    assert response["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    assert response["spec"] == {"audiences": [ISSUER], "expirationSeconds": 600, "boundObjectRef": None}


def test_the_token_of_a_pod_is_valid_for_a_year_and_stale_after_an_hour(tokens: Tokens) -> None:
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "pod"}
    response = token_requests.issue(tokens, token_request({"expirationSeconds": 3607, "boundObjectRef": reference}), WHO)
    claims = payload(response["status"]["token"])
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["kubernetes.io"]["node"] == {"name": "node", "uid": "uid-of-node"}
    assert response["status"]["expirationTimestamp"] == "2026-01-01T01:00:07Z"


def test_a_token_request_for_a_pod_of_another_account_is_rejected(tokens: Tokens, lookup: ObjectLookup) -> None:
    lookup.objects["serviceaccounts", "ns", "other"] = stored_object("other")
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "pod"}
    who = token_requests.TokenRequestScope("ns", "other", WHO.now)
    with pytest.raises(api_errors.StatusError, match="cannot bind token for serviceaccount") as error:
        token_requests.issue(tokens, token_request({"boundObjectRef": reference}), who)
    assert error.value.code == 400


def test_a_token_secret_is_populated_and_its_token_valid_while_the_secret_exists(
    tokens: Tokens, lookup: ObjectLookup, clock: Clock
) -> None:
    secret = {"type": token_secrets.TYPE, "metadata": SECRET["metadata"] | {"annotations": {token_secrets.ACCOUNT_NAME: "sa"}}}
    full = token_secrets.populated(secret, tokens, b"CA")
    assert full
    assert base64.b64decode(full["data"]["ca.crt"]) == b"CA"
    assert base64.b64decode(full["data"]["namespace"]) == b"ns"
    assert full["metadata"]["annotations"][token_secrets.ACCOUNT_UID] == "uid-of-sa"
    assert token_secrets.populated(full, tokens, b"CA") is None
    token = base64.b64decode(full["data"]["token"]).decode()
    lookup.objects["secrets", "ns", "secret"] = full
    clock.now += 10 * 365 * 24 * 3600
    user = tokens.user(token)
    assert user
    assert user.name == "system:serviceaccount:ns:sa"
    lookup.objects["secrets", "ns", "secret"] = full | {"data": {}}
    assert verification_error(tokens, token) == "Token does not match server's copy"
    del lookup.objects["secrets", "ns", "secret"]
    assert verification_error(tokens, token) == "Token has been invalidated"


def test_a_secret_of_a_replaced_account_gets_no_token(tokens: Tokens, lookup: ObjectLookup) -> None:
    annotations = {token_secrets.ACCOUNT_NAME: "sa", token_secrets.ACCOUNT_UID: "uid-of-sa"}
    secret = {"type": token_secrets.TYPE, "metadata": SECRET["metadata"] | {"annotations": annotations}}
    assert token_secrets.populated(secret, tokens, b"CA") is not None
    lookup.objects["serviceaccounts", "ns", "sa"] = stored_object("sa", uid="another")
    assert token_secrets.populated(secret, tokens, b"CA") is None
