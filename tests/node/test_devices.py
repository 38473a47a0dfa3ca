"""Devices: counted by the node, allocated to one pod at a time, visible to that pod only."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod

GPU, MEMORY = "nvidia.com/gpu", "nvidia.com/gpumem"
SHOW = ("sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES,$CUDA_VISIBLE_DEVICES")


@pytest.fixture(scope="module", params=["root", "user", "none"])
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    local_cluster = LocalCluster(request.param)
    try:
        settings = local_cluster.home / ".config" / "traincrew" / "cluster.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"devices: {{{MEMORY}: 1000, {GPU}: 9}}\n")
        yield local_cluster.up("--device", f"{GPU}=2")
    finally:
        local_cluster.close()


def requesting(name: str, *command: str, **counts: int) -> Object:
    limits = {{"gpu": GPU, "memory": MEMORY}[key]: str(count) for key, count in counts.items()}
    return pod(name, *command, resources={"limits": limits}, automountServiceAccountToken=False)


def visible_devices(cluster: LocalCluster, name: str) -> str:
    return str(eventually(lambda: cluster.logs(name).strip()))


def capacity(cluster: LocalCluster) -> Object:
    allocatable: Object = cluster.api.call("GET", "/api/v1/nodes/traincrew")["status"]["allocatable"]
    return {name: allocatable[name] for name in (GPU, MEMORY) if name in allocatable}


def pending(cluster: LocalCluster, name: str) -> str:
    """The message of the condition PodScheduled of a pending pod."""

    def look() -> str:
        conditions = [each for each in cluster.pod(name)["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
        return conditions[0].get("message", "") if conditions else ""

    return str(eventually(look))


def test_the_capacity_has_the_devices_of_flags_and_settings_file(cluster: LocalCluster) -> None:
    assert capacity(cluster) == {GPU: "2", MEMORY: "1k"}


def test_each_pod_sees_only_its_own_devices(cluster: LocalCluster) -> None:
    cluster.create(requesting("first", "sleep", "600", gpu=1), requesting("second", *SHOW, gpu=1), requesting("without", *SHOW))
    cluster.running("first")
    assert cluster.ended("without")["status"]["phase"] == "Succeeded"
    assert visible_devices(cluster, "without") == "void,"
    assert cluster.ended("second")["status"]["phase"] == "Succeeded"
    devices = visible_devices(cluster, "second").split(",")
    assert devices[0] == devices[1]
    cluster.create(requesting("both", *SHOW, gpu=2))
    assert pending(cluster, "both").startswith(f"0/1 nodes are available: 1 Insufficient {GPU}.")
    cluster.api.delete("pods", "default", "first")
    assert cluster.ended("both")["status"]["phase"] == "Succeeded"
    assert visible_devices(cluster, "both") == "0,1,0,1"


def test_a_pod_that_requests_too_many_devices_names_the_option(cluster: LocalCluster) -> None:
    cluster.create(requesting("greedy", *SHOW, gpu=3), requesting("greedier", *SHOW, memory=1001))
    assert f"This machine has 2 {GPU}. To declare more, start the cluster with `traincrew up --device {GPU}=N`." in pending(
        cluster, "greedy"
    )
    assert f"1 Insufficient {MEMORY}" in pending(cluster, "greedier")
    for name in ("greedy", "greedier"):
        cluster.api.delete("pods", "default", name)


def test_devices_stay_with_their_pod_when_the_daemon_dies(cluster: LocalCluster) -> None:
    cluster.create(requesting("keeps", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 600", gpu=1))
    own = visible_devices(cluster, "keeps")
    cluster.kill()
    cluster.up("--device", f"{GPU}=2")
    cluster.create(requesting("other", *SHOW, gpu=1))
    cluster.ended("other")
    assert visible_devices(cluster, "other").split(",")[0] not in ("", own)
    cluster.create(requesting("more", *SHOW, gpu=2))
    assert "Insufficient" in pending(cluster, "more")
    cluster.api.delete("pods", "default", "keeps")
    assert cluster.ended("more")["status"]["phase"] == "Succeeded"


def test_a_device_that_is_no_longer_declared_is_removed_from_the_capacity(cluster: LocalCluster) -> None:
    cluster.down()
    cluster.up("--device", f"{GPU}=0")
    assert GPU not in capacity(cluster)
    assert MEMORY in capacity(cluster)
    cluster.down()
    cluster.up("--device", f"{GPU}=2")


@pytest.fixture
def driver(tmp_path: pathlib.Path) -> pathlib.Path:
    """The driver files of two GPUs. Their device files are copies of /dev/null."""
    if os.geteuid() != 0:
        pytest.skip("only root makes device files")
    for number in range(2):
        directory = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0"
        directory.mkdir(parents=True)
        (directory / "information").write_text(f"GPU UUID: GPU-{number}\nDevice Minor: {number}\n")
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl"):
        os.mknod(tmp_path / "dev" / name, 0o20666, os.stat("/dev/null").st_rdev)
    return tmp_path


def test_gpus_are_discovered_and_their_files_are_in_the_pod_that_has_them(driver: pathlib.Path) -> None:
    cluster = LocalCluster("root")
    try:
        cluster.up("--driver-root", str(driver))
        assert capacity(cluster) == {GPU: "2"}
        script = f"echo $CUDA_VISIBLE_DEVICES; ls {driver}/dev; echo x > {driver}/dev/nvidiactl && echo written; sleep 600"
        cluster.create(requesting("a", "sh", "-c", script, gpu=1), requesting("b", "sh", "-c", script, gpu=1))
        eventually(lambda: "written" in cluster.logs("a") and "written" in cluster.logs("b"))
        seen = sorted(tuple(cluster.logs(name).split()) for name in ("a", "b"))
        assert seen == [("GPU-0", "nvidia0", "nvidiactl", "written"), ("GPU-1", "nvidia1", "nvidiactl", "written")]
    finally:
        cluster.close()
