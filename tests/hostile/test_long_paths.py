"""Paths of a pod that no file can have, or as long as the kernel allows: the pod fails to start, and nothing else does."""

from __future__ import annotations

import pytest
from tests.cluster.api import Object, eventually
from tests.hostile import shims
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

PATHS = {"long": "/" + "a/" * 20_000 + "a", "longest": "/" + "a/" * 1900 + "a", "zero": "/a\0b"}
WAITING = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff")
SPARE = 64
"""Descriptors that the daemon may open for its other work."""


def volumes(source: Object, **mount: str) -> Object:
    return {"volumes": [{"name": "v", **source}], "volumeMounts": [{"name": "v", "mountPath": "/v", **mount}]}


def uses(field: str, path: str, cluster: HostileCluster) -> Object:
    """The fields of a pod that uses the path."""
    items = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": path[1:]}]}}
    fields: dict[str, Object] = {
        "subPath": volumes({"emptyDir": {}}, subPath=path[1:]),
        "mountPath": volumes({"emptyDir": {}}, mountPath=path),
        "hostPath": volumes({"hostPath": {"path": f"{cluster.home}/long{path}", "type": "DirectoryOrCreate"}}),
        "items": volumes(items),
        "workingDir": {"workingDir": path},
        "terminationMessagePath": {"terminationMessagePath": path},
    }
    return fields[field]


def attempted(cluster: HostileCluster, name: str) -> bool:
    """Whether the pod has ended, or its container or its volumes have failed."""
    found = cluster.pod(name)
    states = [each["state"] for each in found["status"].get("containerStatuses", ())]
    failed = any(state.get("waiting", {}).get("reason") in WAITING for state in states)
    return failed or found["status"]["phase"] in ("Succeeded", "Failed") or "FailedMount" in dict(cluster.events(name))


@pytest.mark.parametrize("field", ["subPath", "mountPath", "hostPath", "items", "workingDir", "terminationMessagePath"])
def test_a_path_of_any_length_stops_its_own_pod_at_most(cluster: HostileCluster, field: str) -> None:
    before = shims.descriptors(cluster.pid)
    for name, path in PATHS.items():
        cluster.create(pod(name, "true", **uses(field, path, cluster)))
    for name in PATHS:
        eventually(lambda name=name: attempted(cluster, name))  # type: ignore[misc]
    cluster.create(pod("other", "true"))
    assert cluster.ended("other")["status"]["phase"] == "Succeeded"
    assert shims.descriptors(cluster.pid) - before < SPARE
    assert "Traceback" not in cluster.whole_log(), cluster.log()
