"""Exec plugins: real programs that print credentials."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from traincrew import errors
from traincrew.client import connection, credentials, execplugin, kubeconfig
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect

V1, V1BETA1 = execplugin.API_VERSIONS
Write = Callable[..., str]


def printed(status: dict[str, str], version: str = V1) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def script(write: Write, body: str) -> str:
    return write("bin/plugin", f"#!{sys.executable}\nimport json, os, pathlib, sys\n{body}\n", 0o700)


def printing_script(write: Write, output: str) -> str:
    return script(write, f"print({output!r})")


def config(write: Write, server: str = "https://kube", **call: Any) -> str:
    cluster = {
        "server": server,
        "tls-server-name": "inner",
        "certificate-authority-data": "QVVUSE9SSVRZ",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}],
    }
    plugin = {"apiVersion": V1, "interactiveMode": "Never", **call}
    return write(
        "config",
        {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"exec": plugin}}],
        },
    )


async def run(write: Write, **call: Any) -> credentials.Access:
    return await kubeconfig.load(config(write, **call)).identity.read()


@pytest.mark.parametrize("version", execplugin.API_VERSIONS)
async def test_a_plugin_prints_a_token(write: Write, version: str) -> None:
    access = await run(write, command=printing_script(write, printed({"token": "t-1"}, version)), apiVersion=version)
    assert (access.authorization, access.fresh_for) == ("Bearer t-1", float("inf"))


async def test_a_plugin_prints_a_client_certificate(write: Write) -> None:
    output = printed({"clientCertificateData": "CERT", "clientKeyData": "KEY"})
    access = await run(write, command=printing_script(write, output))
    assert (access.certificate, access.key, access.authorization) == (b"CERT", b"KEY", "")


async def test_a_relative_command_is_relative_to_the_kubeconfig(write: Write) -> None:
    printing_script(write, printed({"token": "t-1"}))
    assert (await run(write, command="./bin/plugin")).authorization == "Bearer t-1"


async def test_a_plugin_gets_its_arguments_variables_and_the_cluster(
    write: Write, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "kept")
    note = tmp_path / "note"
    tell = f"pathlib.Path({str(note)!r}).write_text(json.dumps([sys.argv[1:], dict(os.environ)]))"
    body = f"{tell}\nprint({printed({'token': 't'})!r})"
    variables = [{"name": "OWN", "value": "1"}]
    await run(write, command=script(write, body), args=["a", "b c"], env=variables, provideClusterInfo=True)
    arguments, environment = json.loads(note.read_text())
    assert arguments == ["a", "b c"]
    assert (environment["OWN"], environment["INHERITED"]) == ("1", "kept")
    assert json.loads(environment["KUBERNETES_EXEC_INFO"]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://kube",
                "tls-server-name": "inner",
                "certificate-authority-data": "QVVUSE9SSVRZ",
                "config": {"audience": "us"},
            },
        },
    }


async def test_a_credential_is_cached_until_it_expires(write: Write) -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    output = printed({"token": "t", "expirationTimestamp": later.strftime("%Y-%m-%dT%H:%M:%SZ")})
    assert 3000 < (await run(write, command=printing_script(write, output))).fresh_for < 3600


async def test_an_expired_credential_does_not_run_the_plugin_for_every_request(write: Write) -> None:
    output = printed({"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"})
    assert (await run(write, command=printing_script(write, output))).fresh_for == execplugin.SHORTEST_LIFE


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("sys.exit(3)", "failed with exit code 3", id="fails"),
        pytest.param("print('hush')", "did not print an ExecCredential", id="prints something else"),
        pytest.param("print('{\"hush\":')", "did not print an ExecCredential", id="prints half of it"),
        pytest.param(f"print({printed({'token': 'hush'}, V1BETA1)!r})", "must print an ExecCredential of", id="other version"),
        pytest.param(f"print({printed({'clientKeyData': 'hush'})!r})", "but not both", id="a key alone"),
        pytest.param(f"print({printed({})!r})", "neither a token nor", id="nothing"),
        pytest.param(f"print({printed({'token': 'hush' + chr(10)})!r})", "not one line", id="a newline in the token"),
    ],
)
async def test_a_failed_plugin_is_reported_without_its_output(write: Write, body: str, message: str) -> None:
    with pytest.raises(errors.KubeconfigError, match=f"exec of user 'u' in .*config: .*{message}") as caught:
        await run(write, command=script(write, body))
    assert "hush" not in f"{caught.value} {caught.value.__cause__}"


async def test_a_missing_plugin_is_reported_with_its_install_hint(write: Write) -> None:
    with pytest.raises(errors.KubeconfigError, match=r"cannot run 'no-such-plugin': No such file(.|\n)*install it so"):
        await run(write, command="no-such-plugin", installHint="install it so")


async def test_an_interactive_plugin_is_not_started_without_a_terminal(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/null") as no_terminal:  # noqa: ASYNC230
        monkeypatch.setattr(sys, "stdin", no_terminal)
        with pytest.raises(errors.KubeconfigError, match="requires a terminal"):
            await run(write, command=printing_script(write, printed({"token": "t"})), interactiveMode="Always")


async def test_a_plugin_that_hangs_is_killed(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execplugin, "TIMEOUT_SECONDS", 0.3)
    with pytest.raises(errors.KubeconfigError, match="timed out after"):
        await run(write, command=script(write, "import time; time.sleep(3600)"))


COUNTING = """
count = pathlib.Path(__file__).with_name("count")
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                  "status": {"token": "token-%s" % number}}))
"""


async def test_a_rejected_token_runs_the_plugin_again(write: Write, server: ApiServer, connect: Connect) -> None:
    accepted = "token-1"

    async def check(request: Any) -> Any:
        return web.json_response({}, status=200 if request.headers["Authorization"] == f"Bearer {accepted}" else 401)

    server.default = check
    target = kubeconfig.load(config(write, server=server.url, command=script(write, COUNTING)))
    async with connect(target=target) as client:
        await client.get(PODS, "ns", "p")
        await client.get(PODS, "ns", "p")
        accepted = "token-2"
        await client.get(PODS, "ns", "p")
    tokens = [each.headers["Authorization"][-1] for each in server.requests]
    assert tokens == ["1", "1", "1", "2"]


def test_the_repr_of_a_connection_does_not_show_its_plugin(write: Write) -> None:
    path = config(write, command="x", args=["hush"], env=[{"name": "A", "value": "hush"}])
    loaded: connection.ServerConnection = kubeconfig.load(path)
    assert "hush" not in f"{loaded!r} {loaded.identity!r}"
