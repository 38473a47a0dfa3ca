from __future__ import annotations

import base64
import hashlib
import pathlib

import pytest
from multidict import CIMultiDict
from tests.embedded.apiserver.auth.rbac_objects import ObjectLookup, binding, role, rule, stored_object, user_subject

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import stored_credentials
from traincrew.embedded.apiserver.authn.authentication import Authenticator, HttpPeer
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authn.users import User, administrator, service_account, split_service_account
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.http import impersonation

ADMIN_TOKEN = "the-admins"  # noqa: S105
ADMINISTRATOR = administrator(f"TOKENSHA256={hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest()}")


@pytest.fixture
def tokens() -> Tokens:
    return Tokens(b"k" * 32, ObjectLookup(serviceaccounts=[stored_object("sa")]))


@pytest.fixture
def authenticator(tokens: Tokens) -> Authenticator:
    return Authenticator(ADMIN_TOKEN, tokens)


def request_headers(authorization: str) -> CIMultiDict[str]:
    return CIMultiDict({"authorization": authorization})


@pytest.mark.parametrize("header", [f"Bearer {ADMIN_TOKEN}", f"bearer {ADMIN_TOKEN}", f"  BEARER {ADMIN_TOKEN} x"])
def test_the_admin_token_authenticates_a_master(authenticator: Authenticator, header: str) -> None:
    assert authenticator.user(request_headers(header)) == ADMINISTRATOR


def test_the_token_of_a_service_account_authenticates_it(authenticator: Authenticator, tokens: Tokens) -> None:
    user = authenticator.user(request_headers(f"Bearer {tokens.issue(stored_object('sa'), 600)}"))
    assert user
    assert user.name == "system:serviceaccount:ns:sa"


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer  x", "Basic dTpw", "Bearer nonsense", ADMIN_TOKEN, f"Bearer{ADMIN_TOKEN}"]
)
def test_other_credentials_are_not_authenticated(authenticator: Authenticator, header: str) -> None:
    assert authenticator.user(request_headers(header), path="/api") is None


def test_public_paths_are_open_but_reject_an_invalid_token(authenticator: Authenticator) -> None:
    for path in ("/livez", "/readyz", "/healthz", "/version"):
        user = authenticator.user(CIMultiDict(), path=path)
        assert user
        assert (user.name, user.groups) == ("system:anonymous", ("system:unauthenticated",))
        assert authenticator.user(request_headers("Bearer wrong"), path=path) is None
    assert authenticator.user(CIMultiDict(), path="/livez/ping") is None


def test_a_client_certificate_comes_before_a_token(authenticator: Authenticator) -> None:
    ann = User("ann")
    assert authenticator.user(request_headers(f"Bearer {ADMIN_TOKEN}"), HttpPeer(ann)) == ann


def test_a_browser_sends_its_token_among_the_protocols_of_a_websocket(authenticator: Authenticator) -> None:
    encoded = base64.urlsafe_b64encode(ADMIN_TOKEN.encode()).decode().rstrip("=")
    headers = CIMultiDict({"Sec-WebSocket-Protocol": f"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.{encoded}"})
    assert authenticator.user(headers) == ADMINISTRATOR
    broken = CIMultiDict({"Sec-WebSocket-Protocol": "base64url.bearer.authorization.k8s.io.%%%"})
    assert authenticator.user(broken) is None


def test_an_empty_admin_token_is_rejected(tokens: Tokens) -> None:
    with pytest.raises(ValueError, match="everybody"):
        Authenticator("", tokens)


def test_a_token_review_returns_the_user_or_the_error(authenticator: Authenticator, tokens: Tokens) -> None:
    token = tokens.issue(stored_object("sa"), 600)
    user, audiences, error = authenticator.reviewed(token, ())
    assert user
    assert audiences
    assert not error
    assert authenticator.reviewed(token, ("x",))[2].startswith("[invalid bearer token, token audiences")
    assert authenticator.reviewed("nonsense", ()) == (None, (), "invalid bearer token")
    assert authenticator.reviewed(ADMIN_TOKEN, ())[0] == ADMINISTRATOR


def test_credentials_are_created_once_with_private_permissions(tmp_path: pathlib.Path) -> None:
    token, key = stored_credentials.admin_token(tmp_path), stored_credentials.signing_key(tmp_path)
    assert len(token) >= 32
    assert len(key) == 32
    assert (stored_credentials.admin_token(tmp_path), stored_credentials.signing_key(tmp_path)) == (token, key)
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)
    stored_credentials.admin_token(tmp_path)
    stored_credentials.signing_key(tmp_path)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_an_empty_credential_file_is_filled_again(tmp_path: pathlib.Path) -> None:
    token = stored_credentials.admin_token(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"")
    assert stored_credentials.admin_token(tmp_path) not in ("", token)


ANN = User("ann")


@pytest.fixture
def policy() -> RBACPolicy:
    """Ann may impersonate bob and the group red, nothing else."""
    rbac = RBACPolicy()
    rbac.put(role("as", rule("impersonate", "users", names="bob"), rule("impersonate", "groups", names="red")))
    rbac.put(binding("as", "ClusterRole/as", user_subject("ann")))
    return rbac


def impersonated_user(policy: RBACPolicy, *headers: tuple[str, str]) -> User:
    return impersonation.impersonated(ANN, CIMultiDict(headers), policy, "/api")


def test_without_headers_no_user_is_impersonated(policy: RBACPolicy) -> None:
    assert impersonated_user(policy, ("Accept", "*/*")) is ANN


def test_an_allowed_user_impersonates_another(policy: RBACPolicy) -> None:
    assert impersonated_user(policy, ("impersonate-user", "bob")) == User("bob", ("system:authenticated",))
    user = impersonated_user(policy, ("Impersonate-User", "bob"), ("Impersonate-Group", "red"))
    assert user == User("bob", ("red", "system:authenticated"))


@pytest.mark.parametrize(
    "header",
    [("Impersonate-Group", "system:masters"), ("Impersonate-Uid", "1"), ("Impersonate-Extra-Scopes", "all")],
)
def test_groups_need_their_own_impersonation_permission(policy: RBACPolicy, header: tuple[str, str]) -> None:
    with pytest.raises(api_errors.StatusError) as error:
        impersonated_user(policy, ("Impersonate-User", "bob"), header)
    assert error.value.code == 403


def test_impersonation_of_a_service_account_needs_the_serviceaccounts_permission(policy: RBACPolicy) -> None:
    with pytest.raises(
        api_errors.StatusError, match='cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a"'
    ):
        impersonated_user(policy, ("Impersonate-User", "system:serviceaccount:a:b"))
    user = impersonation.impersonated(
        administrator(), CIMultiDict({"Impersonate-User": "system:serviceaccount:a:b"}), RBACPolicy(), "/api"
    )
    assert user == service_account("a", "b")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("system:serviceaccount:a:b", ("a", "b")),
        ("system:serviceaccount:a:b.c", ("a", "b.c")),
        ("system:serviceaccount:a", None),
        ("system:serviceaccount:a:b:c", None),
        ("system:serviceaccount::b", None),
        ("system:serviceaccount:A:b", None),
        ("system:serviceaccounts:a:b", None),
        ("system:serviceaccount:a:b\n", None),
    ],
)
def test_service_accounts_are_identified_by_their_name(name: str, parts: tuple[str, str] | None) -> None:
    assert split_service_account(name) == parts
