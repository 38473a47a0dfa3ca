"""Paths that a pod can change do not lead another pod, or the kubelet, to files of the host."""

from __future__ import annotations

import os
import pathlib

import pytest
from tests import interpreters
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet.runtime import swapper
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

CONTAINERS = 8
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


def start_swapper(cluster: HostileCluster, outside: pathlib.Path) -> Object:
    """Starts a pod that exchanges a directory of a shared claim with a link to the outside. Returns the volumes of others."""
    shared = {"volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": "exchanged"}}]}
    prepare = f"mkdir /v/part && echo ours > /v/part/own && ln -s {outside} /v/link && echo ready"
    swap = f"{prepare} && exec {interpreters.in_containers()} -ISc '{swapper.PROGRAM}' /v/part /v/link"
    attacker = pod("exchanges", "sh", "-c", swap, volumeMounts=[{"name": "shared", "mountPath": "/v"}], **shared)
    cluster.create(claim("exchanged"), attacker)
    eventually(lambda: "ready" in cluster.logs("exchanges"))
    return shared


def outputs(cluster: HostileCluster, container: Object, shared: Object) -> list[str]:
    """Of the containers that have started: each of them has the same mounts."""
    containers = [{**container, "name": f"looks-{number}", "image": "x"} for number in range(CONTAINERS)]
    made = pod("looks", **shared)
    made["spec"]["containers"] = containers
    cluster.create(made)
    return [cluster.logs("looks", container=name) for name in eventually(lambda: ended(cluster, "looks"), 120)]


def test_a_sub_path_that_another_pod_exchanges_with_a_link_stays_in_its_volume(
    cluster: HostileCluster, outside: pathlib.Path
) -> None:
    shared = start_swapper(cluster, outside)
    mount = {"name": "shared", "mountPath": "/p", "subPath": "part"}
    look = ["sh", "-c", "cat /p/own; cat /p/secret; touch /p/changed"]
    found = outputs(cluster, {"command": look, "volumeMounts": [mount]}, shared)
    assert sorted(os.listdir(outside)) == ["secret"]
    assert not any("precious" in each for each in found)
    assert any("ours" in each for each in found)


MOUNTED = {"name": "shared", "mountPath": "/v"}
NESTED = [MOUNTED, {"name": "own", "mountPath": "/v/part/inner"}]
USES: dict[str, Object] = {
    "working directory": {"workingDir": "/v/part", "volumeMounts": [MOUNTED]},
    "missing working directory": {"workingDir": "/v/part/a/b", "volumeMounts": [MOUNTED]},
    "termination message": {"terminationMessagePath": "/v/part/message", "volumeMounts": [MOUNTED]},
    "nested mount": {"volumeMounts": NESTED},
    "nested file": {"volumeMounts": [MOUNTED, {"name": "file", "mountPath": "/v/part/inner", "subPath": "ca.crt"}]},
    "mount below /dev": {"volumeMounts": [{**each, "mountPath": f"/dev{each['mountPath']}"} for each in NESTED]},
}


@pytest.mark.parametrize("use", USES)
def test_a_path_of_a_container_that_another_pod_exchanges_with_a_link_changes_nothing_on_the_host(
    cluster: HostileCluster, outside: pathlib.Path, use: str
) -> None:
    shared = start_swapper(cluster, outside)
    own = [{"name": "own", "emptyDir": {}}, {"name": "file", "configMap": {"name": "kube-root-ca.crt"}}]
    changes = "touch changed /v/part/changed /v/part/inner/changed /dev/v/part/inner/changed; echo x > /v/part/message"
    container = {"command": ["sh", "-c", f"({changes}) 2>/dev/null; echo ours"], **USES[use]}
    found = outputs(cluster, container, {"volumes": [*shared["volumes"], *own]})
    assert sorted(os.listdir(outside)) == ["secret"]
    assert (outside / "secret").read_text() == "precious"
    assert any("ours" in each for each in found)
