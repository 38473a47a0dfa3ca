"""Host files and host discovery of both MPI versions, byte for byte."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

import msgspec
import pytest
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew import settings
from traincrew.kinds.mpi import files
from traincrew.model import objects
from traincrew.model.observed import Observed

Manifest = dict[str, Any]


def pod(name: str, phase: str = "Running", ready: str = "", *, leaving: bool = False) -> objects.Pod:
    meta: Manifest = {"name": name}
    if leaving:
        meta["deletionTimestamp"] = "2026-01-01T12:00:30Z"
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return msgspec.convert({"metadata": meta, "status": {"phase": phase, "conditions": conditions}}, objects.Pod)


def v1_files(manifest: Manifest, *pods: objects.Pod) -> dict[str, str]:
    _, job = defaulted(manifest)
    return files.exec_files(job, Observed(pods=pods))


def ssh_files(manifest: Manifest, *pods: objects.Pod, domain: str = "") -> dict[str, str]:
    _, job = defaulted(manifest)
    return files.ssh_files(job, Observed(pods=pods, planning=settings.Planning(cluster_domain=domain)))


def with_gpu(manifest: Manifest, resource: str = "nvidia.com/gpu") -> Manifest:
    container = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {resource: 1}}
    return manifest


def test_v1_hosts_are_pod_names_with_slots() -> None:
    assert v1_files(manifests.job("MPIJob", Launcher=1, Worker=2))["hostfile"] == "j-worker-0 slots=1\nj-worker-1 slots=1\n"
    job = manifests.job("MPIJob", Launcher=1, Worker=1, spec={"slotsPerWorker": 4})
    assert v1_files(job)["hostfile"] == "j-worker-0 slots=4\n"


def test_v1_without_workers_has_an_empty_host_file() -> None:
    job = manifests.job("MPIJob", Launcher=1)
    job["spec"]["mpiReplicaSpecs"]["Worker"] = {"template": manifests.template(manifests.BY_NAME["MPIJob"])}
    assert v1_files(job) | {"kubexec.sh": ""} == {"hostfile": "", "kubexec.sh": "", "discover_hosts.sh": "#!/bin/sh"}


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "amd.com/gpu", "aliyun.com/gpu-mem"])
def test_a_v1_launcher_with_gpus_is_the_first_host(resource: str) -> None:
    found = v1_files(with_gpu(manifests.job("MPIJob", Launcher=1, Worker=1), resource), pod("j-worker-0"))
    assert found["hostfile"] == "j-launcher slots=1\nj-worker-0 slots=1\n"
    assert found["discover_hosts.sh"] == "#!/bin/sh\necho j-launcher:1\n\necho j-worker-0:1"


def test_v1_kubexec_runs_a_command_in_the_worker() -> None:
    script = '#!/bin/sh\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME}%s -- /bin/sh -c "$*"'
    assert v1_files(manifests.job("MPIJob", Launcher=1, Worker=1))["kubexec.sh"] == script % ""
    named = manifests.job("MPIJob", Launcher=1, Worker=1, spec={"mainContainer": "main"})
    assert v1_files(named)["kubexec.sh"] == script % " --container main"


@pytest.mark.parametrize("name", ["main; touch {}", "$(touch {})", "`touch {}`", "main\ntouch {}\n", "main' ; touch {} '"])
def test_the_name_of_the_main_container_is_one_argument_of_kubectl(tmp_path: pathlib.Path, name: str) -> None:
    name = name.format(tmp_path / "made")
    job = manifests.job("MPIJob", Launcher=1, Worker=1, spec={"mainContainer": name})
    kubectl, script = tmp_path / "kubectl", tmp_path / "kubexec.sh"
    kubectl.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    kubectl.chmod(0o755)
    script.write_text(v1_files(job)["kubexec.sh"].replace("/opt/kube/kubectl", str(kubectl)))
    done = subprocess.run(["/bin/sh", str(script), "j-worker-0", "orted", "-x"], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == ["exec", "j-worker-0", "--container", name, "--", "/bin/sh", "-c", "orted -x"]
    assert not (tmp_path / "made").exists()


def test_only_workers_that_can_be_reached_are_discovered_in_the_order_of_their_index() -> None:
    job = manifests.job("MPIJob", Launcher=1, Worker=11, spec={"slotsPerWorker": 2})
    seen = (
        pod("j-worker-10"),
        pod("j-worker-2", ready="True"),
        pod("j-worker-0", leaving=True),
        pod("j-worker-1", "Pending"),
        pod("j-worker-3", ready="False"),
        pod("j-worker-4", "Failed"),
        pod("j-worker-99"),
        pod("j-launcher"),
    )
    assert v1_files(job, *seen)["discover_hosts.sh"] == "#!/bin/sh\necho j-worker-2:2\necho j-worker-10:2"


@pytest.mark.parametrize(
    ("implementation", "line"),
    [("OpenMPI", "{} slots=2\n"), ("Intel", "{}:2\n"), ("MPICH", "{}:2\n")],
)
def test_v2beta1_hosts_are_dns_names_in_the_form_of_the_implementation(implementation: str, line: str) -> None:
    job = manifests.ssh_job(Launcher=1, Worker=2, spec={"mpiImplementation": implementation, "slotsPerWorker": 2})
    found = ssh_files(job, pod("j-worker-1"))
    assert found["hostfile"] == line.format("j-worker-0.j.n.svc") + line.format("j-worker-1.j.n.svc")
    assert found["discover_hosts.sh"] == "#!/bin/sh\necho j-worker-1.j.n.svc\n"
    assert set(found) == {"hostfile", "discover_hosts.sh"}


def test_a_v2beta1_launcher_that_works_too_is_the_first_host() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1, spec={"runLauncherAsWorker": True})
    found = ssh_files(job, pod("j-worker-0"), domain="cluster.local")
    launcher, worker = "j-launcher.j.n.svc.cluster.local", "j-worker-0.j.n.svc.cluster.local"
    assert found["hostfile"] == f"{launcher} slots=1\n{worker} slots=1\n"
    assert found["discover_hosts.sh"] == f"#!/bin/sh\necho {launcher}\necho {worker}\n"
