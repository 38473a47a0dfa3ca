"""Devices: counted by the node, given to one pod at a time, seen by that pod alone."""

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
def machine(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    found = LocalCluster(request.param)
    try:
        settings = found.home / ".config" / "traincrew" / "cluster.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"devices: {{{MEMORY}: 1000, {GPU}: 9}}\n")
        yield found.up("--device", f"{GPU}=2")
    finally:
        found.close()


def asking(name: str, *command: str, **counts: int) -> Object:
    limits = {{"gpu": GPU, "memory": MEMORY}[key]: str(count) for key, count in counts.items()}
    return pod(name, *command, resources={"limits": limits}, automountServiceAccountToken=False)


def told(machine: LocalCluster, name: str) -> str:
    return str(eventually(lambda: machine.logs(name).strip()))


def capacity(machine: LocalCluster) -> Object:
    found: Object = machine.api.call("GET", "/api/v1/nodes/traincrew")["status"]["allocatable"]
    return {name: found[name] for name in (GPU, MEMORY) if name in found}


def pending(machine: LocalCluster, name: str) -> str:
    """What a pod that finds no place is told."""

    def look() -> str:
        found = [each for each in machine.pod(name)["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
        return found[0].get("message", "") if found else ""

    return str(eventually(look))


def test_the_node_counts_what_flags_and_the_settings_file_declare(machine: LocalCluster) -> None:
    assert capacity(machine) == {GPU: "2", MEMORY: "1k"}


def test_each_pod_sees_its_own_devices_and_others_none(machine: LocalCluster) -> None:
    machine.create(asking("first", "sleep", "600", gpu=1), asking("second", *SHOW, gpu=1), asking("without", *SHOW))
    machine.running("first")
    assert machine.ended("without")["status"]["phase"] == "Succeeded"
    assert told(machine, "without") == "void,"
    assert machine.ended("second")["status"]["phase"] == "Succeeded"
    devices = told(machine, "second").split(",")
    assert devices[0] == devices[1]
    machine.create(asking("both", *SHOW, gpu=2))
    assert pending(machine, "both").startswith(f"0/1 nodes are available: 1 Insufficient {GPU}.")
    machine.api.delete("pods", "default", "first")
    assert machine.ended("both")["status"]["phase"] == "Succeeded"
    assert told(machine, "both") == "0,1,0,1"


def test_a_pod_that_asks_for_more_than_there_is_names_the_option(machine: LocalCluster) -> None:
    machine.create(asking("greedy", *SHOW, gpu=3), asking("greedier", *SHOW, memory=1001))
    assert f"This machine has 2 {GPU}. To declare more, start the cluster with `traincrew up --device {GPU}=N`." in pending(
        machine, "greedy"
    )
    assert f"1 Insufficient {MEMORY}" in pending(machine, "greedier")
    for name in ("greedy", "greedier"):
        machine.api.delete("pods", "default", name)


def test_devices_stay_with_their_pod_when_the_daemon_dies(machine: LocalCluster) -> None:
    machine.create(asking("keeps", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 600", gpu=1))
    own = told(machine, "keeps")
    machine.kill()
    machine.up("--device", f"{GPU}=2")
    machine.create(asking("other", *SHOW, gpu=1))
    machine.ended("other")
    assert told(machine, "other").split(",")[0] not in ("", own)
    machine.create(asking("more", *SHOW, gpu=2))
    assert "Insufficient" in pending(machine, "more")
    machine.api.delete("pods", "default", "keeps")
    assert machine.ended("more")["status"]["phase"] == "Succeeded"


def test_a_device_that_is_no_longer_declared_is_no_longer_counted(machine: LocalCluster) -> None:
    machine.down()
    machine.up("--device", f"{GPU}=0")
    assert GPU not in capacity(machine)
    assert MEMORY in capacity(machine)
    machine.down()
    machine.up("--device", f"{GPU}=2")


@pytest.fixture
def driver(tmp_path: pathlib.Path) -> pathlib.Path:
    """A machine with two GPUs, as far as files go: their files are those of /dev/null."""
    if os.geteuid() != 0:
        pytest.skip("only root makes device files")
    for number in range(2):
        place = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0"
        place.mkdir(parents=True)
        (place / "information").write_text(f"GPU UUID: GPU-{number}\nDevice Minor: {number}\n")
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl"):
        os.mknod(tmp_path / "dev" / name, 0o20666, os.stat("/dev/null").st_rdev)
    return tmp_path


def test_gpus_are_found_and_their_files_are_in_the_pod_that_has_them(driver: pathlib.Path) -> None:
    machine = LocalCluster("root")
    try:
        machine.up("--driver-root", str(driver))
        assert capacity(machine) == {GPU: "2"}
        script = f"echo $CUDA_VISIBLE_DEVICES; ls {driver}/dev; echo x > {driver}/dev/nvidiactl && echo written; sleep 600"
        machine.create(asking("a", "sh", "-c", script, gpu=1), asking("b", "sh", "-c", script, gpu=1))
        eventually(lambda: "written" in machine.logs("a") and "written" in machine.logs("b"))
        seen = sorted(tuple(machine.logs(name).split()) for name in ("a", "b"))
        assert seen == [("GPU-0", "nvidia0", "nvidiactl", "written"), ("GPU-1", "nvidia1", "nvidiactl", "written")]
    finally:
        machine.close()
