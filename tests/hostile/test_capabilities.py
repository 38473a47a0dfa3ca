"""No capability leads a container to the host through the processes that it sees."""

from __future__ import annotations

import contextlib
import json
import urllib.parse

import pytest
import websocket
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet.runtime import host_search
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

from traincrew.embedded.kubelet.runtime.container import capabilities

AT_ONCE = 14
"""Containers that run at the same time: each is an interpreter."""


ENOUGH = "/run/enough"
PROBES = "echo >> /run/probes && test $(wc -l < /run/probes) -ge 5"
"""The container is ready after five probes."""
OUTCOME = 3
"""The channel of an exec on which its outcome is sent."""


def searcher(cluster: HostileCluster, name: str, *added: str, until: str = "") -> Object:
    container: Object = {"name": name, "image": "x", "command": host_search.command(cluster.data / "kubeconfig", until)}
    return container | {"securityContext": {"capabilities": {"add": list(added)}}}


def create(cluster: HostileCluster, name: str, containers: list[Object], **spec: object) -> None:
    made = pod(name, **spec)
    made["spec"]["containers"] = containers
    cluster.create(made)


def searched(cluster: HostileCluster, name: str) -> dict[str, str]:
    """What each container has found."""
    containers = cluster.ended(name, within=120)["spec"]["containers"]
    return {each["name"]: cluster.logs(name, container=each["name"]) for each in containers}


def searchers(cluster: HostileCluster) -> list[Object]:
    """A container for each capability."""
    return [searcher(cluster, each.lower().replace("_", "-"), each) for each in capabilities.NUMBERS]


def test_each_capability_alone_finds_no_way_through_init(cluster: HostileCluster) -> None:
    containers, found = searchers(cluster), dict[str, str]()
    for start in range(0, len(containers), AT_ONCE):
        create(cluster, f"capabilities-{start}", containers[start : start + AT_ONCE])
        found |= searched(cluster, f"capabilities-{start}")
    assert len(found) == len(containers)
    assert {name: text for name, text in found.items() if text != "searching\nsearched\n"} == {}


def test_each_capability_alone_finds_no_way_through_the_processes_of_its_pod(cluster: HostileCluster) -> None:
    containers, found = searchers(cluster), dict[str, str]()
    for start in range(0, len(containers), AT_ONCE):
        some = containers[start : start + AT_ONCE]
        for each in some:
            create(cluster, f"shares-{each['name']}", [each], shareProcessNamespace=True)
        for each in some:
            found |= searched(cluster, f"shares-{each['name']}")
    assert len(found) == len(containers)
    assert {name: text for name, text in found.items() if text != "searching\nsearched\n"} == {}


def execute(cluster: HostileCluster, name: str, *command: str) -> None:
    """As `kubectl exec`."""
    query = urllib.parse.urlencode({"container": "main", "stdout": "true", "command": command}, doseq=True)
    url = cluster.api.server.replace("https:", "wss:") + cluster.api.path("pods", "default", name, "exec") + "?" + query
    header = {"Authorization": str(cluster.api.session.headers["Authorization"])}
    certificates = {"ca_certs": str(cluster.api.session.verify)}
    with contextlib.closing(
        websocket.create_connection(url, header=header, subprotocols=["v4.channel.k8s.io"], sslopt=certificates, timeout=60)
    ) as channels:
        outcome = next(message for message in iter(channels.recv, b"") if message[0] == OUTCOME)
        assert json.loads(outcome[1:])["status"] == "Success"


def debug(cluster: HostileCluster, name: str) -> None:
    """As `kubectl debug --target`."""
    container = {"name": "debugger", "image": "x", "command": ["true"], "targetContainerName": "main"}
    cluster.api.patch("pods", "default", name, {"spec": {"ephemeralContainers": [container]}}, sub="ephemeralcontainers")
    eventually(lambda: "terminated" in cluster.pod(name)["status"]["ephemeralContainerStatuses"][0]["state"])


@pytest.mark.parametrize("shared", [False, True], ids=["own processes", "shared processes"])
def test_a_container_that_may_trace_finds_no_way_through_processes_that_start(cluster: HostileCluster, shared: bool) -> None:
    hooked: Object = {"lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}
    probed: Object = {"readinessProbe": {"exec": {"command": ["sh", "-c", PROBES]}, "periodSeconds": 1, "failureThreshold": 100}}
    main = searcher(cluster, "main", "SYS_PTRACE", until=ENOUGH)
    create(cluster, "traces", [main | hooked | probed], shareProcessNamespace=shared)
    cluster.running("traces")
    for _ in range(5):
        execute(cluster, "traces", "true")
    debug(cluster, "traces")
    execute(cluster, "traces", "touch", ENOUGH)
    cluster.ended("traces")
    assert cluster.logs("traces", container="main") == "searching\nsearched\n"
