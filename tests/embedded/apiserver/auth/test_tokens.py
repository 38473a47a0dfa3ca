from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
from tests.embedded.apiserver.auth.documents import Clock, Shelf, stored

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import jwt, token_requests, token_secrets
from traincrew.embedded.apiserver.authn.service_account_tokens import InvalidToken, Tokens
from traincrew.embedded.apiserver.authn.token_claims import AUDIENCES, ISSUER, Bound

KEY = b"k" * 32
ACCOUNT, POD, NODE, SECRET = stored("sa"), stored("pod"), stored("node", ""), stored("secret")


@pytest.fixture
def shelf() -> Shelf:
    pod = POD | {"spec": {"serviceAccountName": "sa", "nodeName": "node"}}
    return Shelf(serviceaccounts=[ACCOUNT], pods=[pod], nodes=[NODE], secrets=[SECRET])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(shelf: Shelf, clock: Clock) -> Tokens:
    return Tokens(KEY, shelf, clock)


def refused(tokens: Tokens, token: str, audiences: tuple[str, ...] = AUDIENCES) -> str:
    with pytest.raises(InvalidToken) as found:
        tokens.verified(token, audiences)
    return str(found.value)


def test_a_token_names_its_account(tokens: Tokens) -> None:
    user = tokens.user(tokens.issue(ACCOUNT, 3600))
    assert user
    assert user.name == "system:serviceaccount:ns:sa"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert user.uid == "uid-of-sa"


def test_a_pods_token_tells_pod_and_node(tokens: Tokens) -> None:
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
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_a_token_expires(tokens: Tokens, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 600)
    clock.now += 659
    assert tokens.user(token)
    clock.now += 2
    assert refused(tokens, token) == "service account token has expired"
    assert tokens.user(token) is None


def test_a_token_of_the_future_is_not_valid_yet(tokens: Tokens, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 600)
    clock.now -= 120
    assert refused(tokens, token) == "service account token is not valid yet"


@pytest.mark.parametrize("plural", ["serviceaccounts", "pods"])
def test_a_token_dies_with_what_it_is_bound_to(tokens: Tokens, shelf: Shelf, plural: str) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(pod=POD))
    assert tokens.user(token)
    name = {"serviceaccounts": "sa", "pods": "pod"}[plural]
    shelf.objects[plural, "ns", name] = stored(name, uid="another")
    assert "another) does not match" in refused(tokens, token)
    del shelf.objects[plural, "ns", name]
    words = {"serviceaccounts": 'serviceaccounts "sa" not found', "pods": "service account token has been invalidated"}
    assert refused(tokens, token) == words[plural]


def test_a_pod_that_is_being_deleted_keeps_its_token_for_a_minute(tokens: Tokens, shelf: Shelf, clock: Clock) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(pod=POD))
    moment = datetime.datetime.fromtimestamp(clock.now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shelf.objects["pods", "ns", "pod"] = {"metadata": POD["metadata"] | {"deletionTimestamp": moment}}
    assert tokens.user(token)
    clock.now += 61
    assert refused(tokens, token) == "service account token has been invalidated"


def test_a_token_bound_to_a_node_dies_with_it(tokens: Tokens, shelf: Shelf) -> None:
    token = tokens.issue(ACCOUNT, 3600, bound=Bound(node=NODE))
    assert tokens.user(token)
    shelf.objects.clear()
    shelf.objects["serviceaccounts", "ns", "sa"] = ACCOUNT
    assert refused(tokens, token) == "service account token has been invalidated"


def test_a_token_for_others_is_not_for_this_server(tokens: Tokens) -> None:
    token = tokens.issue(ACCOUNT, 3600, audiences=("vault",))
    assert tokens.user(token) is None
    assert tokens.verified(token, ("vault", "x"))[1] == ("vault",)
    assert refused(tokens, token) == f'token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]'


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


def test_no_forgery_is_believed(tokens: Tokens) -> None:
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
def test_nonsense_is_refused_quietly(tokens: Tokens, nonsense: str) -> None:
    assert tokens.user(nonsense) is None


def test_tokens_outlive_the_server(shelf: Shelf, clock: Clock) -> None:
    token = Tokens(KEY, shelf, clock).issue(ACCOUNT, 3600)
    assert Tokens(KEY, shelf, clock).user(token)
    assert Tokens(b"o" * 32, shelf, clock).user(token) is None


def test_memory_for_tokens_is_bounded(tokens: Tokens) -> None:
    for _ in range(10_050):
        assert tokens.user(tokens.issue(ACCOUNT, 3600))
    assert len(tokens._known) <= 10_000


def asked(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


WHO = token_requests.TokenRequestScope("ns", "sa", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


def test_a_token_request_is_answered_with_a_good_token(tokens: Tokens) -> None:
    answer = token_requests.issue(tokens, asked({"expirationSeconds": 600}), WHO)
    assert tokens.user(answer["status"]["token"])
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    assert answer["spec"] == {"audiences": [ISSUER], "expirationSeconds": 600, "boundObjectRef": None}


def test_the_token_of_a_pod_lives_a_year_but_warns_after_an_hour(tokens: Tokens) -> None:
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "pod"}
    answer = token_requests.issue(tokens, asked({"expirationSeconds": 3607, "boundObjectRef": reference}), WHO)
    claims = payload(answer["status"]["token"])
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["kubernetes.io"]["node"] == {"name": "node", "uid": "uid-of-node"}
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T01:00:07Z"


def test_a_token_request_for_another_accounts_pod_is_refused(tokens: Tokens, shelf: Shelf) -> None:
    shelf.objects["serviceaccounts", "ns", "other"] = stored("other")
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "pod"}
    who = token_requests.TokenRequestScope("ns", "other", WHO.now)
    with pytest.raises(api_errors.StatusError, match="cannot bind token for serviceaccount") as found:
        token_requests.issue(tokens, asked({"boundObjectRef": reference}), who)
    assert found.value.code == 400


def test_an_old_kind_of_secret_is_filled_and_its_token_good_while_it_holds_it(tokens: Tokens, shelf: Shelf, clock: Clock) -> None:
    secret = {"type": token_secrets.TYPE, "metadata": SECRET["metadata"] | {"annotations": {token_secrets.ACCOUNT_NAME: "sa"}}}
    full = token_secrets.populated(secret, tokens, b"CA")
    assert full
    assert base64.b64decode(full["data"]["ca.crt"]) == b"CA"
    assert base64.b64decode(full["data"]["namespace"]) == b"ns"
    assert full["metadata"]["annotations"][token_secrets.ACCOUNT_UID] == "uid-of-sa"
    assert token_secrets.populated(full, tokens, b"CA") is None
    token = base64.b64decode(full["data"]["token"]).decode()
    shelf.objects["secrets", "ns", "secret"] = full
    clock.now += 10 * 365 * 24 * 3600
    user = tokens.user(token)
    assert user
    assert user.name == "system:serviceaccount:ns:sa"
    shelf.objects["secrets", "ns", "secret"] = full | {"data": {}}
    assert refused(tokens, token) == "Token does not match server's copy"
    del shelf.objects["secrets", "ns", "secret"]
    assert refused(tokens, token) == "Token has been invalidated"


def test_a_secret_whose_account_is_gone_is_an_orphan(tokens: Tokens, shelf: Shelf) -> None:
    annotations = {token_secrets.ACCOUNT_NAME: "sa", token_secrets.ACCOUNT_UID: "uid-of-sa"}
    secret = {"type": token_secrets.TYPE, "metadata": SECRET["metadata"] | {"annotations": annotations}}
    assert not token_secrets.orphaned(secret, shelf)
    shelf.objects["serviceaccounts", "ns", "sa"] = stored("sa", uid="another")
    assert token_secrets.orphaned(secret, shelf)
    assert token_secrets.populated(secret, tokens, b"CA") is None
    assert not token_secrets.orphaned(secret | {"type": "Opaque"}, shelf)
