"""Pods as hostile servers of the kubelet: what their responses to probes cost."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from tests.cluster.api import eventually
from tests.hostile import hostile_server, shims
from tests.hostile.hostile_cluster import HostileCluster
from tests.hostile.test_pages import cpu_seconds
from tests.node.local_cluster import pod

SOURCE = pathlib.Path(hostile_server.__file__).read_text()
PORT = 8080
PROBES = 3
CPU_SECONDS = 5.0
"""Of the event loop, for a few probes and the rest of the cluster meanwhile. One endless code took more."""
MEMORY = 48 << 20
"""Bytes by which the daemon may grow. One flood of headers took more."""


def probed(cluster: HostileCluster, name: str, action: dict[str, Any]) -> None:
    """Until the pod was asked several times."""
    probe = {**action, "periodSeconds": 1, "timeoutSeconds": 2}
    cluster.create(pod("server", "python3", "-c", SOURCE, str(PORT), name, readinessProbe=probe))
    eventually(lambda: cluster.logs("server").count("asked") >= PROBES)


@pytest.mark.parametrize("name", [each.__name__ for each in hostile_server.OF_HTTP + hostile_server.OF_GRPC])
def test_the_server_that_a_probe_asks_does_not_harm_the_kubelet(cluster: HostileCluster, name: str) -> None:
    is_http = name in {each.__name__ for each in hostile_server.OF_HTTP}
    descriptors, memory, seconds = shims.descriptors(cluster.pid), shims.peak_memory(cluster.pid), cpu_seconds(cluster.pid)
    probed(cluster, name, {"httpGet": {"port": PORT}} if is_http else {"grpc": {"port": PORT}})
    assert cpu_seconds(cluster.pid) - seconds < CPU_SECONDS
    assert shims.peak_memory(cluster.pid) - memory < MEMORY
    cluster.create(pod("other", "true"))
    assert cluster.ended("other")["status"]["phase"] == "Succeeded"
    cluster.api.delete("pods", "default", "server", grace=0)
    cluster.gone("server")
    eventually(lambda: shims.descriptors(cluster.pid) < descriptors + 20)
