"""Hostile clients at each port: DNS and API server as pods see them, the kubelet's HTTPS port, those of operator and console."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
from collections.abc import Callable, Iterator

import pytest
from tests.cluster import operators
from tests.cluster.api import Object, eventually
from tests.embedded.resilience import memory_limits
from tests.hostile import consoles, shims, socket_attacks
from tests.hostile.consoles import ConsoleProcess
from tests.hostile.exec_client import execute
from tests.hostile.hostile_cluster import HostileCluster
from tests.hostile.test_sockets import MAX_DAEMON_DESCRIPTORS, MAX_DESCRIPTORS, MAX_MEMORY, SCRIPT, attack, lasting
from tests.node.local_cluster import pod

from traincrew.operator.http_endpoints import MAX_CONNECTIONS
from traincrew.serving.limited_listener import MAX_UNAUTHENTICATED

ATTACKS = [each.__name__ for each in socket_attacks.OF_HTTP_PORTS]
OF_NAMES = [*(each.__name__ for each in socket_attacks.OF_PORTS), "datagrams"]
RESOLVE = "import socket; print(socket.gethostbyname('kubernetes.default.svc.cluster.local'))"
REQUEST = """import ssl, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount"
context = ssl.create_default_context(cafile=f"{account}/ca.crt")
headers = {"Authorization": "Bearer " + open(f"{account}/token").read()}
request = urllib.request.Request("https://kubernetes.default.svc/version", headers=headers)
print(urllib.request.urlopen(request, context=context, timeout=30).status)
"""


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """An attack that succeeds fails its test and does not harm the machine."""
    with memory_limits.of_this_process():
        yield


def netns_daemon(cluster: HostileCluster) -> int:
    return int(json.loads((cluster.data / "node/netns.json").read_text())["pid"])


def kubelet_address(node: Object) -> str:
    address = next(each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP")
    return f"{address}:{node['status']['daemonEndpoints']['kubeletEndpoint']['Port']}"


def assert_works(cluster: HostileCluster, name: str, script: str) -> None:
    cluster.create(pod(name, "python3", "-c", script))
    assert cluster.ended(name)["status"]["phase"] == "Succeeded", cluster.logs(name)


@pytest.mark.parametrize("name", OF_NAMES)
def test_a_pod_cannot_take_names_from_others(cluster: HostileCluster, name: str) -> None:
    daemon = netns_daemon(cluster)
    server = json.loads((cluster.data / "node/netns.json").read_text())["gateway"]
    cluster.create(pod("attacker", "python3", "-c", SCRIPT, f"{server}:53", name))
    eventually(lambda: "attacks" in cluster.logs("attacker"))
    assert_works(cluster, "other", RESOLVE)
    cluster.ended("attacker", within=120)
    assert_works(cluster, "after", RESOLVE)
    assert netns_daemon(cluster) == daemon
    eventually(lambda: shims.descriptors(daemon) < MAX_DESCRIPTORS)
    assert shims.peak_memory(daemon) < MAX_MEMORY


@pytest.mark.parametrize("name", ATTACKS)
def test_a_pod_cannot_take_the_api_server_from_others(cluster: HostileCluster, name: str) -> None:
    before = shims.descriptors(cluster.pid)
    cluster.create(pod("attacker", "python3", "-c", SCRIPT, "kubernetes.default.svc:443", name))
    eventually(lambda: "attacks" in cluster.logs("attacker"))
    assert_works(cluster, "other", REQUEST)
    cluster.ended("attacker", within=120)
    assert shims.descriptors(cluster.pid) - before < MAX_DAEMON_DESCRIPTORS
    assert_works(cluster, "after", REQUEST)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_of_the_kubelet_does_not_harm_its_pods(cluster: HostileCluster, name: str) -> None:
    lasting(cluster, "victim")
    (node,) = cluster.api.all("nodes", "")
    with attack(cluster, kubelet_address(node), name) as attacker:
        lines = len(cluster.logs("victim"))
        assert execute(cluster, "victim", "echo", "hello") == "hello\n"
        assert attacker.wait(120) == 0
    eventually(lambda: len(cluster.logs("victim")) > lines)
    assert execute(cluster, "victim", "echo", "hello") == "hello\n"
    assert "Traceback" not in cluster.whole_log(), cluster.log()


@pytest.mark.parametrize("name", [*ATTACKS, "idle_tls", "tls_heads"])
@pytest.mark.parametrize("port", ["apiserver", "kubelet"])
def test_a_local_user_without_credentials_does_not_take_the_descriptors(cluster: HostileCluster, port: str, name: str) -> None:
    (node,) = cluster.api.all("nodes", "")
    address = cluster.api.server.removeprefix("https://") if port == "apiserver" else kubelet_address(node)
    before, memory = shims.descriptors(cluster.pid), shims.peak_memory(cluster.pid)
    with attack(cluster, address, name) as attacker:
        while attacker.poll() is None:
            assert cluster.api.all("pods", "default") == []
            assert shims.descriptors(cluster.pid) - before < MAX_UNAUTHENTICATED + 100
        assert attacker.returncode == 0
    eventually(lambda: shims.descriptors(cluster.pid) - before < 100)
    assert shims.peak_memory(cluster.pid) - memory < MAX_MEMORY
    assert "Traceback" not in cluster.whole_log(), cluster.log()


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_of_the_operator_keeps_neither_its_probes_nor_its_descriptors(
    cluster: HostileCluster, tmp_path: pathlib.Path, name: str
) -> None:
    with operators.running(cluster.kubeconfig) as operator:
        for port, path in ((operator.health_port, "/readyz"), (operator.metrics_port, "/metrics")):
            with attack(cluster, f"127.0.0.1:{port}", name) as attacker:
                assert operator.fetch(port, path)
                assert attacker.wait(120) == 0
                assert operator.fetch(port, path)
        eventually(lambda: shims.descriptors(operator.process.pid) < 2 * MAX_CONNECTIONS + 64)
        assert shims.peak_memory(operator.process.pid) < 2 * MAX_MEMORY
        assert "Traceback" not in operator.log, operator.log


@contextlib.contextmanager
def signed_in(console: ConsoleProcess) -> Iterator[Callable[[], int]]:
    """A request for the jobs on one connection, which fails if the connection was closed."""
    connection = http.client.HTTPConnection(console.origin.removeprefix("http://"), timeout=60)

    def ask(method: str, path: str, body: str = "", **headers: str) -> http.client.HTTPResponse:
        connection.request(method, f"/api/v1/{path}", body, headers)
        return connection.getresponse()

    answer = ask("POST", "session", json.dumps({"token": console.token}))
    cookie, token = answer.headers["Set-Cookie"].partition(";")[0], json.loads(answer.read())["csrfToken"]
    connection.auto_open = 0

    def jobs() -> int:
        answer = ask("GET", "jobs", **{"Cookie": cookie, "X-CSRF-Token": token})
        return len(answer.read()) and answer.status

    with contextlib.closing(connection):
        yield jobs


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_of_the_console_takes_neither_its_descriptors_nor_connections_that_are_signed_in(
    cluster: HostileCluster, tmp_path: pathlib.Path, name: str
) -> None:
    with consoles.running(cluster.kubeconfig, tmp_path) as console, signed_in(console) as jobs:
        pid = console.process.pid
        assert jobs() == 200
        before = shims.descriptors(pid)
        with attack(cluster, console.origin.removeprefix("http://"), name) as attacker:
            while attacker.poll() is None:
                assert jobs() == 200
                assert shims.descriptors(pid) - before < MAX_UNAUTHENTICATED + 100
            assert attacker.returncode == 0
        assert jobs() == 200
        eventually(lambda: shims.descriptors(pid) - before < 100)
        assert shims.peak_memory(pid) < 2 * MAX_MEMORY
        assert "Traceback" not in console.log, console.log
        assert "malformed" not in console.log, console.log
