"""MPIJob v1: the launcher pod, how it gets kubectl, waits for its workers and learns of changed files."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from tests.cluster import mpi
from tests.cluster.api import Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.operators import INIT_IMAGE
from tests.cluster.submitted_job import Submit, SubmittedJob, env
from tools.kube import build, cluster

DIGEST = "traincrew.kubeflow.org/config-digest"


def launcher(job: SubmittedJob) -> Object:
    found: Object = eventually(lambda: job.pods().get("j-launcher"))["spec"]
    return found


@pytest.mark.checklist(118)
def test_an_init_container_brings_kubectl(submit: Submit, namespace: str) -> None:
    spec = launcher(submit(mpi.job(1)))
    (init,) = spec["initContainers"]
    room = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    assert (init["name"], init["image"]) == ("kubectl-delivery", INIT_IMAGE)
    assert init["imagePullPolicy"] == "IfNotPresent"
    assert init["env"] == [{"name": "TARGET_DIR", "value": "/opt/kube"}, {"name": "NAMESPACE", "value": namespace}]
    assert init["resources"] == {"requests": room, "limits": room}
    mounts = {mount["name"]: mount["mountPath"] for mount in init["volumeMounts"]}
    assert {"mpi-job-kubectl": "/opt/kube", "mpi-job-config": "/etc/mpi"}.items() <= mounts.items()


def test_the_image_that_brings_kubectl_is_a_flag_of_the_operator(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--mpi-kubectl-delivery-image", "mirror.example/kubectl:1.32"):
        (init,) = launcher(isolated.submit(mpi.job(1)))["initContainers"]
        assert init["image"] == "mirror.example/kubectl:1.32"


def test_an_operator_that_does_not_know_its_image_uses_a_public_one(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--init-image", ""):
        (init,) = launcher(isolated.submit(mpi.job(1)))["initContainers"]
        assert init["image"] == "kubeflow/kubectl-delivery:latest"


@pytest.mark.checklist(118)
def test_the_users_own_init_containers_come_first(submit: Submit) -> None:
    body = mpi.job(1)
    mpi.template(body, "Launcher")["initContainers"] = [{"name": "mine", "image": "busybox"}]
    names = [init["name"] for init in launcher(submit(body))["initContainers"]]
    assert names == ["mine", "kubectl-delivery"]


@pytest.mark.checklist(119, 121)
def test_the_launchers_environment_leads_every_mpi_to_the_remote_shell(submit: Submit) -> None:
    body = mpi.job(1)
    mpi.container(body, "Launcher")["env"] = [{"name": "MINE", "value": "1"}]
    job = submit(body)
    launcher(job)
    assert env(job.pods()["j-launcher"]) == {
        "MINE": "1",
        "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "NVIDIA_VISIBLE_DEVICES": None,
        "NVIDIA_DRIVER_CAPABILITIES": None,
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh",
        "PRTE_MCA_plm_ssh_agent": "/etc/mpi/kubexec.sh",
        "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
    }


@pytest.mark.checklist(119)
def test_only_the_first_container_gets_the_environment(submit: Submit) -> None:
    body = mpi.job(1)
    mpi.template(body, "Launcher")["containers"].append({"name": "sidecar", "image": "proxy:1"})
    spec = launcher(submit(body))
    assert "env" in spec["containers"][0]
    assert "env" not in spec["containers"][1]


@pytest.mark.checklist(120)
@pytest.mark.parametrize(
    "name",
    ["I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_default_hostfile"],
)
def test_what_the_user_has_set_is_neither_overridden_nor_doubled(submit: Submit, name: str) -> None:
    body = mpi.job(1)
    mpi.container(body, "Launcher")["env"] = [{"name": name, "value": "mine"}]
    entries = launcher(submit(body))["containers"][0]["env"]
    assert [entry["value"] for entry in entries if entry["name"] == name] == ["mine"]


@pytest.mark.checklist(121)
def test_a_launcher_with_gpus_sees_them(submit: Submit) -> None:
    body = mpi.job(1)
    mpi.container(body, "Launcher")["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    job = submit(body)
    launcher(job)
    found = env(job.pods()["j-launcher"])
    assert "OMPI_MCA_plm_rsh_agent" in found
    assert not any(name.startswith("NVIDIA_") for name in found)


@pytest.mark.checklist(123)
def test_the_launcher_mounts_its_files_and_kubectl(submit: Submit) -> None:
    spec = launcher(submit(mpi.job(1)))
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    modes = {item["key"]: (item["path"], item["mode"]) for item in volumes["mpi-job-config"]["configMap"]["items"]}
    assert volumes["mpi-job-config"]["configMap"]["name"] == "j-config"
    assert modes == {
        "kubexec.sh": ("kubexec.sh", 0o555),
        "hostfile": ("hostfile", 0o444),
        "discover_hosts.sh": ("discover_hosts.sh", 0o555),
    }
    assert volumes["mpi-job-kubectl"]["emptyDir"] == {}
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
    assert {"mpi-job-config": "/etc/mpi", "mpi-job-kubectl": "/opt/kube"}.items() <= mounts.items()


class Delivery:
    """The init container's own command as a process of this machine, with the launcher's own rights on the API server."""

    def __init__(self, kube: cluster.Cluster, job: SubmittedJob, folder: pathlib.Path) -> None:
        for name, text in mpi.files(job).items():
            (folder / name).write_text(text)
        (folder / "bin").mkdir()
        self.target = folder / "bin" / "kubectl"
        (init,) = launcher(job)["initContainers"]
        command = [init["command"][0], *(word.replace("/etc/mpi", str(folder)) for word in init["command"][1:])]
        path = f"{build.program('kubectl').parent}:{os.environ['PATH']}"
        own = {"TARGET_DIR": str(self.target.parent), "NAMESPACE": job.namespace, "PATH": path}
        own["KUBECONFIG"] = str(kube.token_kubeconfig(job.namespace, "j-launcher"))
        self.process = subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True)

    def says(self, line: str) -> None:
        """Waits for a line that it prints."""
        assert self.process.stdout is not None
        for found in self.process.stdout:
            if found.strip() == line:
                return
        raise AssertionError(f"ended with {self.process.wait()} before it said: {line}")

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def deliver(kube: cluster.Cluster, tmp_path: pathlib.Path) -> Iterator[list[Delivery]]:
    started: list[Delivery] = []
    yield started
    for delivery in started:
        delivery.stop()


def test_the_launcher_waits_inside_until_all_workers_are_ready(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, deliver: list[Delivery], tmp_path: pathlib.Path
) -> None:
    job = submit(mpi.job(2))
    deliver.append(delivery := Delivery(kube, job, tmp_path))
    delivery.says("waiting for workers: 0 of 2 are ready")
    kubelet.run("j-worker-0")
    kubelet.run("j-worker-1", ready=False)
    delivery.says("waiting for workers: 1 of 2 are ready")
    kubelet.run("j-worker-1")
    delivery.says("2 of 2 workers are ready")
    assert delivery.process.wait(30) == 0
    assert os.access(delivery.target, os.X_OK)


def test_an_elastic_launcher_waits_for_the_least_number_only(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, deliver: list[Delivery], tmp_path: pathlib.Path
) -> None:
    body = mpi.job(3, slotsPerWorker=2)
    words = ["--min-np", "3", "--max-np", "6", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"]
    mpi.container(body, "Launcher").update(command=["horovodrun"], args=["-np", "4", *words])
    job = submit(body)
    deliver.append(delivery := Delivery(kube, job, tmp_path))
    delivery.says("waiting for workers: 0 of 2 are ready")  # three processes, two slots a worker
    kubelet.run("j-worker-0", "j-worker-2")
    delivery.says("2 of 2 workers are ready")
    assert delivery.process.wait(30) == 0


def test_a_changed_config_map_is_followed_by_a_touch_of_the_running_launcher(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, namespace: str
) -> None:
    """A kubelet looks at the mounted files again when the pod changes, else only after a minute or two."""
    job = submit(mpi.job(2))
    kubelet.run("j-launcher", "j-worker-0")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1"])
    before = job.pods()["j-launcher"]["metadata"]["annotations"][DIGEST]
    since = kube.audit_size()

    kubelet.run("j-worker-1")

    wanted = [("patch", "configmaps", "j-config"), ("patch", "pods", "j-launcher")]
    eventually(lambda: mpi.writes(kube, since, namespace) == wanted)
    assert job.pods()["j-launcher"]["metadata"]["annotations"][DIGEST] != before
    assert mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1"]


def test_the_launcher_is_not_touched_while_its_files_stay_the_same(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, namespace: str
) -> None:
    since = kube.audit_size()
    job = submit(mpi.job(1))
    kubelet.run("j-launcher", "j-worker-0")
    once = [("patch", "configmaps", "j-config"), ("patch", "pods", "j-launcher")]
    eventually(lambda: mpi.writes(kube, since, namespace) == once)
    job.patch({"mpiReplicaSpecs": {"Worker": {"template": {"metadata": {"labels": {"team": "vision"}}}}}})
    consistently(lambda: mpi.writes(kube, since, namespace) == once, 0.5)
