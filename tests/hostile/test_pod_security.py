"""Pod Security Admission is asked for every way in which a pod is written, and nothing of a rejected container runs."""

from __future__ import annotations

import pytest
from tests.cluster.api import Object, RejectedRequest
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

LABEL = "pod-security.kubernetes.io/enforce"
CONTENT = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json"}


def debugger(**security: object) -> Object:
    container = {"name": "debugger", "image": "x", "command": ["sh", "-c", "id; sleep 600"], "securityContext": security}
    return {"spec": {"ephemeralContainers": [container]}}


def debug(cluster: HostileCluster, way: str, body: Object) -> None:
    path = cluster.api.path("pods", "guarded", "victim", "ephemeralcontainers")
    if way == "update":
        stored = cluster.pod("victim", "guarded")
        del stored["metadata"]["resourceVersion"]  # the status changes meanwhile
        cluster.api.call("PUT", path, {**stored, "spec": {**stored["spec"], **body["spec"]}})
    else:
        cluster.api.call("PATCH", path, body, CONTENT[way])


@pytest.mark.parametrize("way", ["update", "merge", "strategic"])
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_privileged_ephemeral_container_does_not_enter_a_guarded_namespace(
    cluster: HostileCluster, level: str, way: str
) -> None:
    labels = {LABEL: level}
    if cluster.api.find("namespaces", "", "guarded") is None:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "guarded"}})
    cluster.api.patch("namespaces", "", "guarded", {"metadata": {"labels": labels}})
    strict = {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}, "runAsUser": 1000}
    strict["seccompProfile"] = {"type": "RuntimeDefault"}
    cluster.create(pod("victim", "sleep", "600", securityContext=strict), namespace="guarded")
    if cluster.level == "root":  # other levels may have one user id only, and then the container does not start
        cluster.running("victim", "guarded")
    with pytest.raises(RejectedRequest, match=f'violates PodSecurity "{level}:latest"') as error:
        debug(cluster, way, debugger(privileged=True))
    assert error.value.code == 403
    found = cluster.pod("victim", "guarded")
    assert "ephemeralContainers" not in found["spec"]
    assert "ephemeralContainerStatuses" not in found["status"]
    debug(cluster, way, debugger(**strict))
