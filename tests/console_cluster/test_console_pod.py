"""The console as a pod: a renewed certificate, a stop that loses no request, and the headers of a proxy."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import ssl
import sys
from collections.abc import Iterator

import aiohttp
import pytest
from tests.cluster.api import Object, eventually
from tests.console import users
from tests.console_cluster.forwarding import forwarding
from tests.console_cluster.release import CONSOLE, LONG, NAMESPACE, Release
from tools.kube import certificates

from traincrew.embedded.kubelet.images import default_environment

ON = "console.enabled=true"
CLOSED = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
Files = tuple[pathlib.Path, pathlib.Path]
"""Of a certificate and of its key."""


def only_pod(release: Release) -> Object:
    (found,) = release.pods(CONSOLE)
    return found


def serving_certificate(folder: pathlib.Path, name: str) -> Files:
    authority = folder / name
    authority.mkdir()
    return certificates.Authority(authority).server(name)


def put_secret(release: Release, files: Files) -> None:
    made = release.kubectl(
        "create", "secret", "tls", "console-tls", f"--cert={files[0]}", f"--key={files[1]}", "--dry-run=client", "-o=json"
    )
    done = release.machine.kube.kubectl("apply", "-n", NAMESPACE, "-f", "-", input=made.stdout)
    assert done.returncode == 0, done.stderr


def served(release: Release) -> str:
    with forwarding(release, only_pod(release)["metadata"]["name"]) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        return ssl.get_server_certificate((host, int(port)), timeout=60)


def certificate_of(files: Files) -> str:
    text = files[0].read_text()
    end = "-----END CERTIFICATE-----\n"
    return text.partition(end)[0] + end


def test_a_renewed_certificate_is_served_without_a_restart_and_the_commands_use_https(
    release: Release, tmp_path: pathlib.Path
) -> None:
    first, second = (serving_certificate(tmp_path, name) for name in ("first", "second"))
    put_secret(release, first)
    release.install(ON, 'console.tlsSecret="console-tls"', 'console.publicUrl="https://console.example.com"')
    before = only_pod(release)
    assert served(release).strip() == certificate_of(first).strip()
    done = release.cli(release.machine.kube.kubeconfig, "ls", "--all", check=False)
    assert "this console has no history" in done.stderr, "the command has signed in over HTTPS"
    put_secret(release, second)
    eventually(lambda: served(release).strip() == certificate_of(second).strip(), LONG)
    after = only_pod(release)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert [each["restartCount"] for each in after["status"]["containerStatuses"]] == [0]


async def test_a_stop_answers_requests_first_and_closes_streams_with_a_code_that_makes_pages_come_back(release: Release) -> None:
    await asyncio.to_thread(release.install, ON)
    secret = users.token_of(release.machine.kube.kubeconfig, "watcher", "view")
    name = only_pod(release)["metadata"]["name"]
    with forwarding(release, name) as address:
        async with users.visitor(address) as visitor:
            await visitor.enter(token=secret)
            async with visitor.stream() as stream:
                await stream.subscribe("jobs")
                await stream.next("jobs.snapshot")
                release.machine.api.delete("pods", NAMESPACE, name)
                answers = [(await visitor.call("GET", "jobs"))[0] for _ in range(5)]
                async with asyncio.timeout(LONG):
                    while (message := await stream.socket.receive()).type not in (
                        aiohttp.WSMsgType.CLOSE,
                        aiohttp.WSMsgType.CLOSED,
                    ):
                        pass
                assert answers == [200] * 5, "requests after SIGTERM are served"
                assert (message.data, message.extra) == (aiohttp.WSCloseCode.GOING_AWAY, "the console stops")
    eventually(lambda: release.machine.api.find("pods", NAMESPACE, name) is None, LONG)
    release.wait_rollout(CONSOLE)


PROXY = {"userHeader": "X-Forwarded-User", "groupsHeader": "X-Groups", "groups": ["ml"], "addresses": ["127.0.0.1/32"]}
_ASK = """import json, sys, urllib.request, urllib.error
headers = {"X-Forwarded-User": "ana", "Content-Type": "application/json", "Host": "localhost"}
request = urllib.request.Request("http://" + sys.argv[1] + ":8470/api/v1/session", b"{}", headers)
try:
    print(urllib.request.urlopen(request, timeout=60).status)
except urllib.error.HTTPError as error:
    print(error.code, json.load(error)["message"])
"""


@pytest.fixture
def proxied(release: Release) -> Iterator[str]:
    """The address of the pod."""
    release.install(ON, f"console.proxy={json.dumps(PROXY)}")
    yield str(only_pod(release)["status"]["podIP"])
    with contextlib.suppress(AssertionError):
        release.machine.api.delete("pods", "default", "forger", grace=0)


async def test_the_header_of_the_proxy_counts_from_its_address_and_from_no_other(release: Release, proxied: str) -> None:
    """The proxy is a sidecar here: a port forward comes from the pod itself, as the proxy would."""
    with forwarding(release, only_pod(release)["metadata"]["name"]) as address:
        async with users.visitor(address) as visitor:
            headers = {"X-Forwarded-User": "ana", "X-Groups": "ml,system:masters"}
            status, found = await visitor.post_session(headers)
            assert (status, found["user"], found["groups"]) == (200, "ana", ["ml"])
            status, error = await visitor.call("GET", "nodes", X_Forwarded_User="ana", X_Groups="ml")
            assert (status, error["missingRight"]["user"]) == (403, "ana")
    container = {"name": "a", "image": "python", "command": ["python", "-c", _ASK, proxied]}
    annotations = {default_environment.ANNOTATION: sys.prefix}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "forger", "annotations": annotations}}
    release.machine.create({**body, "spec": {"restartPolicy": "Never", "containers": [container]}})
    release.machine.ended("forger", within=LONG)
    said = release.machine.logs("forger")
    assert said.startswith("401 the connection comes from "), said
    assert "which is not the proxy of this console" in said
