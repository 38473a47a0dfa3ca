"""Paths that a pod can change do not lead another pod, or the kubelet, to files of the host."""

from __future__ import annotations

import os
import pathlib

import pytest
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet.runtime import swapper
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

CONTAINERS = 12
NOT_STARTED = ("CreateContainerConfigError", "CreateContainerError")


@pytest.fixture
def outside(cluster: HostileCluster) -> pathlib.Path:
    """Files of the host that no pod may reach."""
    path = cluster.home / "outside"
    path.mkdir(exist_ok=True)
    (path / "secret").write_text("precious")
    for each in (path, path / "secret"):
        each.chmod(0o777)
        os.chown(each, *(cluster.user or os.geteuid(),) * 2)
    return path


def claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def ended(cluster: HostileCluster, name: str) -> list[str]:
    """The containers that have ended, after each was started or could not be. Failed starts are repeated: wait for some."""
    states = {each["name"]: each["state"] for each in cluster.pod(name)["status"].get("containerStatuses", ())}
    attempted = all("terminated" in each or each.get("waiting", {}).get("reason") in NOT_STARTED for each in states.values())
    return [container for container, state in states.items() if "terminated" in state] if attempted else []


def test_a_sub_path_that_another_pod_exchanges_with_a_link_stays_in_its_volume(
    cluster: HostileCluster, outside: pathlib.Path
) -> None:
    shared = {"volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": "exchanged"}}]}
    prepare = f"mkdir /v/part && echo ours > /v/part/own && ln -s {outside} /v/link && echo ready"
    swap = f"{prepare} && exec /usr/bin/python3 -ISc '{swapper.PROGRAM}' /v/part /v/link"
    attacker = pod("exchanges", "sh", "-c", swap, volumeMounts=[{"name": "shared", "mountPath": "/v"}], **shared)
    cluster.create(claim("exchanged"), attacker)
    eventually(lambda: "ready" in cluster.logs("exchanges"))
    mount = {"name": "shared", "mountPath": "/p", "subPath": "part"}
    look = ["sh", "-c", "cat /p/own; cat /p/secret; touch /p/changed"]
    others = [
        {"name": f"other-{number}", "image": "x", "command": look, "volumeMounts": [mount]} for number in range(1, CONTAINERS)
    ]
    cluster.create(pod("looks", *look, volumeMounts=[mount], containers=others, **shared))
    outputs = [cluster.logs("looks", container=name) for name in eventually(lambda: ended(cluster, "looks"), 120)]
    assert sorted(os.listdir(outside)) == ["secret"]
    assert not any("precious" in each for each in outputs)
    assert any("ours" in each for each in outputs)
