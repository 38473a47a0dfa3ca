"""Kubeconfigs are read as by kubectl, and errors contain no secrets."""

from __future__ import annotations

import base64
import copy
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from traincrew import errors
from traincrew.client import credentials, kubeconfig

SECRET = "s3cr3t-v4lu3"  # noqa: S105
Write = Callable[..., str]


def config(**user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "mine"}},
            {"name": "there", "context": {"cluster": "c", "user": ""}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/"}}],
        "users": [{"name": "u", "user": user}],
    }


def changed(part: str, **fields: Any) -> dict[str, Any]:
    result = config()
    result[f"{part}s"][0][part].update(fields)
    return result


async def access(path: str, context: str | None = None) -> credentials.Access:
    return await kubeconfig.load(path, context).identity.read()


def test_the_current_context_is_used(write: Write) -> None:
    loaded = kubeconfig.load(write("config", config()))
    assert (loaded.server, loaded.namespace) == ("https://10.0.0.1:6443", "mine")


def test_a_context_can_be_named(write: Write) -> None:
    assert kubeconfig.load(write("config", config()), "there").namespace == "default"


async def test_a_context_without_a_user_is_anonymous(write: Write) -> None:
    assert await access(write("config", config(token=SECRET)), "there") == credentials.Access()


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        pytest.param({"token": SECRET}, f"Bearer {SECRET}", id="token"),
        pytest.param(
            {"username": "jane", "password": SECRET},
            f"Basic {base64.b64encode(f'jane:{SECRET}'.encode()).decode()}",
            id="name and password",
        ),
        pytest.param({}, "", id="nothing"),
    ],
)
async def test_the_authorization_of_a_user(write: Write, user: dict[str, str], authorization: str) -> None:
    assert (await access(write("config", config(**user)))).authorization == authorization


async def test_paths_are_relative_to_their_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("keys/token", f"{SECRET}\n")
    write("keys/ca.pem", "AUTHORITY")
    document = config(tokenFile="keys/token")
    document["clusters"][0]["cluster"]["certificate-authority"] = "keys/ca.pem"
    path = pathlib.Path(write("config", document))
    monkeypatch.chdir(path.parent.parent)
    credential = await access(f"{path.parent.name}/{path.name}")
    assert (credential.authorization, credential.authority) == (f"Bearer {SECRET}", b"AUTHORITY")


async def test_a_token_file_is_read_again(write: Write) -> None:
    write("token", "first")
    identity = kubeconfig.load(write("config", config(tokenFile="token"))).identity
    first = await identity.read()
    write("token", "second")
    assert (first.authorization, (await identity.read()).authorization) == ("Bearer first", "Bearer second")
    assert first.fresh_for == 60


async def test_data_overrides_paths(write: Write) -> None:
    encoded = base64.b64encode(b"CERT").decode()
    user = {"client-certificate-data": encoded, "client-certificate": "/nowhere", "client-key-data": encoded}
    credential = await access(write("config", config(**user)))
    assert (credential.certificate, credential.key) == (b"CERT", b"CERT")


def test_the_first_file_that_defines_an_entry_wins(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = copy.deepcopy(config()), config()
    del first["users"], first["current-context"]
    first["clusters"][0]["cluster"]["server"] = "https://first"
    second["clusters"].append({"name": "d", "cluster": {"server": "https://second"}})
    second["contexts"].append({"name": "only-second", "context": {"cluster": "d", "user": "u"}})
    paths = [write("one", first), "/nowhere/at/all", write("two", second)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))
    assert kubeconfig.load().server == "https://first"
    assert kubeconfig.load(context="only-second").server == "https://second"


def test_the_default_is_the_kubeconfig_in_the_home_directory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pathlib.Path(write("home/.kube/config", config()))
    monkeypatch.setenv("HOME", str(path.parent.parent))
    assert kubeconfig.load().server == "https://10.0.0.1:6443"


def test_impersonation_is_read(write: Write) -> None:
    user = {"as": "jane", "as-uid": "1", "as-groups": ["a", "b"]}
    assert kubeconfig.load(write("config", config(**user))).impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    )


def test_tls_settings_are_read(write: Write) -> None:
    document = changed("cluster", **{"insecure-skip-tls-verify": True, "tls-server-name": "kube"})
    loaded = kubeconfig.load(write("config", document))
    assert (loaded.insecure, loaded.tls_server_name) == (True, "kube")


def test_the_proxy_of_the_cluster_overrides_the_environment(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:1")
    assert kubeconfig.load(write("plain", config())).proxy == "http://environment:1"
    document = changed("cluster", **{"proxy-url": "http://cluster:2"})
    assert kubeconfig.load(write("proxied", document)).proxy == "http://cluster:2"


async def test_empty_sections_are_ignored(write: Write) -> None:
    text = """
        apiVersion: v1
        current-context: here
        contexts: [{name: here, context: {cluster: c, user: u, namespace: null}}]
        clusters: [{name: c, cluster: {server: "http://localhost:8001", extensions: null}}]
        users: [{name: u, user: }]
    """
    assert (await access(write("config", text))).authorization == ""


NO_CONTEXT = {key: value for key, value in config().items() if key != "current-context"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param({}, "no current-context; name a context, available: none", id="nothing in it"),
        pytest.param(NO_CONTEXT, "no current-context; name a context, available: here, there", id="no context"),
        pytest.param(config() | {"current-context": "x"}, "context 'x' not found in .*available: here, there", id="context"),
        pytest.param(changed("context", cluster="x"), "cluster 'x' not found in .*; available: c", id="cluster"),
        pytest.param(changed("context", cluster=""), "cluster of context 'here' in .* is not set", id="no cluster"),
        pytest.param(changed("context", user="x"), "user 'x' not found in .*; available: u", id="user"),
        pytest.param(changed("cluster", server=""), "server of cluster 'c' in .* must be a URL", id="no server"),
        pytest.param(changed("cluster", server="ftp://x"), "server of cluster 'c'", id="scheme"),
        pytest.param(changed("cluster", server=f"https://u:{SECRET}@x"), "without user and password", id="password"),
        pytest.param(changed("cluster", **{"proxy-url": f"socks5://u:{SECRET}@x"}), "proxy-url of cluster 'c'", id="proxy"),
        pytest.param(config(token=12345), r"Expected `str`, got `int` - at `\$.users", id="a number for a token"),
        pytest.param(config(**{"client-key-data": f"{SECRET}!"}), "client-key-data of user 'u' in .* is not base64", id="base64"),
        pytest.param(config(**{"client-certificate": "x"}), "client-key of user 'u' in .* is missing", id="no key"),
        pytest.param(
            config(**{"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}}),
            "auth-provider of user 'u' in .*use the exec plugin",
            id="retired provider",
        ),
        pytest.param(
            config(exec={"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}),
            "exec of user 'u' in .*apiVersion must be",
            id="old plugin",
        ),
        pytest.param([SECRET], "is not a kubeconfig", id="a list"),
        pytest.param(SECRET, "is not a kubeconfig", id="a word"),
        pytest.param(f"users:\n- token: '{SECRET}\n", r"not valid YAML \(line \d+, column \d+\)", id="broken YAML"),
    ],
)
def test_an_error_names_file_and_entry_and_contains_no_secret(write: Write, document: Any, message: str) -> None:
    text = document if isinstance(document, str | dict) else repr(document)
    path = write("config", text)
    with pytest.raises(errors.KubeconfigError, match=message) as caught:
        kubeconfig.load(path)
    assert path in str(caught.value)
    assert SECRET not in "".join(map(str, (caught.value, caught.value.__cause__, caught.value.__context__)))


@pytest.mark.parametrize(
    ("token", "message"),
    [
        pytest.param(None, "tokenFile of user 'u' in .*: cannot read '.*token': No such file", id="missing"),
        pytest.param(b"", "must be one non-empty line", id="empty"),
        pytest.param(b"two\nlines", "must be one non-empty line", id="two lines"),
        pytest.param(b"\xff\xfe", "must be one non-empty line", id="binary"),
    ],
)
async def test_an_invalid_token_file_is_reported(write: Write, token: bytes | None, message: str) -> None:
    if token is not None:
        write("token", token)
    with pytest.raises(errors.KubeconfigError, match=message):
        await access(write("config", config(tokenFile="token")))


def test_a_missing_file_is_reported(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.KubeconfigError, match=r"cannot read the kubeconfig '.*absent': No such file"):
        kubeconfig.load(str(tmp_path / "absent"))
    monkeypatch.setenv("KUBECONFIG", "/nowhere/one:/nowhere/two")
    with pytest.raises(errors.KubeconfigError, match="/nowhere/one and /nowhere/two"):
        kubeconfig.load()


async def test_secrets_are_not_shown(write: Write) -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()
    user = {"token": SECRET, "password": SECRET, "username": "u"}
    user |= {"client-key-data": encoded, "client-certificate-data": encoded}
    user["exec"] = {  # type: ignore[assignment]
        "command": "x",
        "args": [SECRET],
        "env": [{"name": "A", "value": SECRET}],
        "apiVersion": "client.authentication.k8s.io/v1",
    }
    document = config(**user)
    document["clusters"][0]["cluster"]["proxy-url"] = f"http://u:{SECRET}@proxy:1"
    loaded = kubeconfig.load(write("config", document))
    shown = f"{loaded!r} {loaded.identity!r} {await loaded.identity.read()!r}"
    assert SECRET not in shown
    assert encoded not in shown


def test_the_connection_of_a_pod_has_server_and_namespace(write: Write, tmp_path: pathlib.Path) -> None:
    write("namespace", "mine\n")
    write("token", SECRET)
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HTTPS_PROXY": "http://p:1"}
    loaded = kubeconfig.in_cluster(str(tmp_path), env)
    assert (loaded.server, loaded.namespace, loaded.proxy) == ("https://[fd00::1]:443", "mine", "http://p:1")
    assert SECRET not in repr(loaded)


@pytest.mark.parametrize(
    ("env", "message"),
    [({}, "KUBERNETES_SERVICE_HOST is not set"), ({"KUBERNETES_SERVICE_HOST": "h"}, "'.*token' does not exist")],
)
def test_outside_a_pod_the_error_names_what_is_missing(tmp_path: pathlib.Path, env: dict[str, str], message: str) -> None:
    with pytest.raises(errors.KubeconfigError, match=message):
        kubeconfig.in_cluster(str(tmp_path), env)
