"""Kubeconfigs that users paste: what is used of them, and what is refused with a remedy."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from traincrew import errors
from traincrew.console import uploaded_kubeconfig

SERVER = "https://10.96.0.1:443"
TOKEN = "sesame"  # noqa: S105 - of this test
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()


def config(user: dict[str, Any] | None = None, context: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    given = {"token": "sesame"} if user is None else user
    return {
        "current-context": "work",
        "contexts": [
            {"name": "other", "context": {"cluster": "evil", "user": "evil"}},
            {"name": "work", "context": {"cluster": "c", "user": "u", "namespace": "team-a", **(context or {})}},
        ],
        "clusters": [
            {"name": "evil", "cluster": {"server": "https://evil.example"}},
            {"name": "c", "cluster": {"server": SERVER, "certificate-authority-data": PEM, **cluster}},
        ],
        "users": [{"name": "evil", "user": {"exec": {"command": "/bin/evil"}}}, {"name": "u", "user": given}],
    }


def parse(found: Any, *more: str) -> uploaded_kubeconfig.UserCredentials:
    text = found if isinstance(found, str) else yaml.safe_dump(found)
    return uploaded_kubeconfig.parse(text, (SERVER, *more))


def test_only_the_user_of_the_current_context_is_used() -> None:
    found = parse(config())
    assert (found.token, found.certificate, found.key, found.namespace) == ("sesame", b"", b"", "team-a")
    assert "sesame" not in repr(found)


def test_a_client_certificate_is_used() -> None:
    found = parse(config({"client-certificate-data": PEM, "client-key-data": PEM}))
    assert found.certificate == found.key == b"-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ({"exec": {"command": "sh"}, "token": "sesame"}, "runs a program (exec)"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider"),
        ({"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "names a file (tokenFile)"),
        ({"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"}, "names a file (client-certificate)"),
        ({"client-certificate-data": PEM, "client-key": "k"}, "names a file (client-key)"),
        ({"username": "admin", "password": "sesame"}, "has a username and a password"),
        ({"token": "sesame", "as": "root"}, "impersonates another user"),
        ({"token": "sesame", "as-groups": ["system:masters"]}, "impersonates other groups"),
        ({}, "neither a token nor a client certificate"),
        ({"client-certificate-data": PEM}, "has no client-key-data"),
        ({"client-certificate-data": "%%%", "client-key-data": PEM}, "is not base64"),
        ({"token": "two words"}, "this is no token"),
        ({"token": ["sesame"]}, "is not a text"),
    ],
)
def test_what_the_console_would_have_to_read_run_or_believe_is_refused(user: dict[str, Any], reason: str) -> None:
    with pytest.raises(errors.KubeconfigError) as refused:
        parse(config(user))
    assert reason in str(refused.value)
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({"server": "https://evil.example"}, "is for the API server 'https://evil.example'"),
        ({"server": "http://10.96.0.1:443"}, "is for the API server"),
        ({"server": "https://user@10.96.0.1"}, "is for the API server"),
        ({"server": "https://10.96.0.1:443/prefix"}, "is for the API server"),
        ({"server": "https://10.96.0.1:99999"}, "is for the API server"),
        ({"server": ""}, "is for the API server"),
        ({"server": 5}, "is not a text"),
        ({"certificate-authority": "/etc/ca.crt"}, "names a file (certificate-authority)"),
        ({"proxy-url": "http://evil.example"}, "has a proxy (proxy-url)"),
        ({"tls-server-name": "evil.example"}, "has a tls-server-name"),
    ],
)
def test_another_server_and_another_way_to_it_are_refused(cluster: dict[str, Any], reason: str) -> None:
    with pytest.raises(errors.KubeconfigError) as refused:
        parse(config(**cluster))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "server", ["https://10.96.0.1", "https://10.96.0.1:443/", "HTTPS://10.96.0.1:443", "https://api.example:6443"]
)
def test_other_spellings_and_named_addresses_of_the_own_server_are_accepted(server: str) -> None:
    assert parse(config(server=server), "https://API.example:6443/").token == TOKEN


DEEP = "[" * 5000 + "]" * 5000
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "is not a kubeconfig", id="nothing"),
        pytest.param("- a\n", "is not a kubeconfig", id="a list"),
        pytest.param("a: [", "is not valid YAML (line", id="broken"),
        pytest.param("token: sesame\n  x: - y", "is not valid YAML (line", id="broken beside a secret"),
        pytest.param(DEEP, "is not valid YAML", id="deep"),
        pytest.param(BOMB, "has YAML aliases", id="a billion laughs"),
        pytest.param("a: !!python/object/apply:os.system [id]\n", "", id="a tag of Python"),
        pytest.param("x" * 300_000, "is larger than 256 KiB", id="large"),
        pytest.param("current-context: work\ncontexts: 5\n", "has no context 'work'", id="no list"),
        pytest.param("current-context: work\ncontexts: [5, {name: work}]\n", "has no context 'work'", id="no mapping"),
        pytest.param("contexts: []\n", "has no current-context", id="no current context"),
        pytest.param("current-context: [1]\n", "is not a text", id="no name"),
        pytest.param("\x00", "is not", id="binary"),
    ],
)
def test_texts_that_are_no_kubeconfig_are_refused(text: str, reason: str) -> None:
    with pytest.raises(errors.KubeconfigError) as refused:
        parse(text)
    assert reason in str(refused.value)
    assert "sesame" not in str(refused.value)


def test_of_two_entries_of_a_name_the_first_one_counts_as_with_kubectl() -> None:
    found = config()
    found["users"].append({"name": "u", "user": {"exec": {"command": "sh"}}})
    assert parse(found).token == TOKEN
