"""The init container in which a v2beta1 launcher waits for its workers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import built, defaulted
from tests.planner import manifests

from traincrew.kinds.mpi import worker_wait

Manifest = dict[str, Any]


def _launcher(job: Manifest, **planning: Any) -> list[Manifest]:
    found: list[Manifest] = built(job, "Launcher", **planning)["spec"].get("initContainers", [])
    return found


def test_the_launcher_waits_for_every_worker_of_its_host_file() -> None:
    (waiting,) = _launcher(manifests.ssh_job(Launcher=1, Worker=2), init_image="traincrew:1")
    assert waiting["command"] == [
        "traincrew-wait",
        "--hosts-file=/etc/mpi/hostfile",
        "--prefix=j-worker-",
        "--ports=22,2222",
    ]
    assert waiting["resources"]["requests"] == waiting["resources"]["limits"]


def test_an_elastic_launcher_waits_for_the_workers_that_it_needs() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=3)
    words = ["--min-np", "2", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"]
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = ["horovodrun", *words]
    (waiting,) = _launcher(job, init_image="traincrew:1")
    assert waiting["command"][-1] == "--count=2"


@pytest.mark.parametrize(
    ("job", "planning"),
    [
        pytest.param(manifests.ssh_job(Launcher=1), {"init_image": "traincrew:1"}, id="no workers"),
        pytest.param(manifests.ssh_job(Launcher=1, Worker=1), {}, id="no image that can wait"),
    ],
)
def test_the_launcher_does_not_wait(job: Manifest, planning: Manifest) -> None:
    assert _launcher(job, **planning) == []


@pytest.mark.parametrize(
    ("container", "ports"),
    [
        pytest.param({}, [22, 2222], id="nothing is said"),
        pytest.param({"command": ["/usr/sbin/sshd"], "args": ["-De", "-p", "2022"]}, [2022], id="option of sshd"),
        pytest.param({"command": ["sh", "-c", "exec /usr/sbin/sshd -De -o Port=2023"]}, [2023], id="setting of sshd"),
        pytest.param({"readinessProbe": {"tcpSocket": {"port": 2024}}}, [2024], id="readiness probe"),
        pytest.param(
            {"readinessProbe": {"tcpSocket": {"port": "ssh"}}, "ports": [{"name": "ssh", "containerPort": 2025}]},
            [2025],
            id="readiness probe by name",
        ),
        pytest.param({"readinessProbe": {"exec": {"command": ["true"]}}}, [22, 2222], id="another readiness probe"),
        pytest.param({"ports": [{"containerPort": 2026}, {"containerPort": 22}]}, [22, 2222, 2026], id="declared ports"),
    ],
)
def test_the_port_of_sshd_is_read_from_the_workers_container(container: Manifest, ports: list[int]) -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1)
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].update(container)
    assert worker_wait.ssh_ports(defaulted(job)[1]) == ports
