"""Pods and services that are built from templates."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import built, defaulted, env, replica
from tests.planner import manifests

from traincrew.kinds import pod_templates

Manifest = dict[str, Any]


def service(manifest: Manifest, role: str, index: int = 0) -> Manifest:
    kind, job = defaulted(manifest)
    place = replica(kind, job, role, index)
    return pod_templates.service(kind, place, pod_templates.build(kind, place))


def role_of(manifest: Manifest, role: str, index: int = 0) -> str | None:
    found: dict[str, str] = built(manifest, role, index)["metadata"]["labels"]
    return found.get("training.kubeflow.org/job-role")


def test_operator_labels_win_over_the_templates() -> None:
    job = manifests.job("JAXJob", Worker=1)
    job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["metadata"] = {
        "name": "dropped",
        "labels": {"team": "a", "training.kubeflow.org/replica-index": "7"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/keep"],
    }
    meta = built(job, "Worker")["metadata"]
    assert meta["labels"] == {
        "team": "a",
        "training.kubeflow.org/operator-name": "jaxjob-controller",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
        "training.kubeflow.org/job-role": "master",
    }
    assert meta["annotations"] == {"note": "x"}
    assert meta["finalizers"] == ["example.com/keep"]
    assert "name" not in meta


def test_the_master_role_is_the_leaders_or_the_first_workers() -> None:
    chief = manifests.job("TFJob", Chief=1, Worker=1)
    assert (role_of(chief, "Chief"), role_of(chief, "Worker")) == ("master", None)
    workers = manifests.job("TFJob", Worker=2)
    assert (role_of(workers, "Worker"), role_of(workers, "Worker", 1)) == ("master", None)
    assert role_of(manifests.job("PaddleJob", Worker=2), "Worker") == "master"
    mpi = manifests.job("MPIJob", Launcher=1, Worker=1)
    assert (role_of(mpi, "Launcher"), role_of(mpi, "Worker")) == ("master", None)
    ssh = manifests.ssh_job(Launcher=1, Worker=1)
    assert (role_of(ssh, "Launcher"), role_of(ssh, "Worker")) == ("launcher", "worker")


@pytest.mark.parametrize(
    ("given", "wanted"), [("ExitCode", "Never"), ("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always")]
)
def test_restart_policies_are_copied_but_for_exit_code(given: str, wanted: str) -> None:
    assert built(manifests.job("TFJob", Worker=1, restart=given), "Worker")["spec"]["restartPolicy"] == wanted


def test_the_last_log_lines_become_the_termination_message_unless_the_user_wants_otherwise() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1)
    spec = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"].append({"name": "own", "image": "i", "terminationMessagePolicy": "File"})
    made = built(job, "Worker")["spec"]
    policies = [container["terminationMessagePolicy"] for container in made["containers"] + made["initContainers"]]
    assert policies == ["FallbackToLogsOnError", "File", "FallbackToLogsOnError"]


@pytest.mark.parametrize(
    ("job", "role", "injected"),
    [
        (manifests.job("PyTorchJob", Master=1, Worker=1), "Worker", "init-pytorch"),
        (manifests.job("MPIJob", Launcher=1), "Launcher", "kubectl-delivery"),
        (manifests.ssh_job(Launcher=1, Worker=1), "Launcher", "wait-for-workers"),
    ],
)
def test_injected_containers_are_as_restricted_as_the_one_that_trains(job: Manifest, role: str, injected: str) -> None:
    specs = job["spec"][manifests.BY_NAME[job["kind"]].replicas_field]
    restricted = {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
    specs[role]["template"]["spec"]["containers"][0]["securityContext"] = restricted
    specs[role]["template"]["spec"]["initContainers"] = [{"name": "mine", "image": "i"}]
    made = built(job, role, init_image="traincrew:1")["spec"]["initContainers"]
    assert [container["name"] for container in made] == ["mine", injected]
    assert made[1]["securityContext"] == restricted


def test_fields_that_are_null_count_as_left_out() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1)
    template = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": None, "annotations": None}
    template["spec"].update(initContainers=None, volumes=None)
    template["spec"]["containers"][0].update(env=None, ports=None, terminationMessagePolicy=None)
    pod = built(job, "Worker")
    assert env(pod)["RANK"] == "1"
    assert pod["spec"]["containers"][0]["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_a_services_ports_are_named_and_no_number_stands_twice() -> None:
    job = manifests.job("JAXJob", Worker=1)
    container = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 8080}, {"name": "b", "containerPort": 9090}, {"name": "c", "containerPort": 9090}]
    made = service(job, "Worker")
    assert made["spec"]["ports"] == [
        {"name": "port-8080", "port": 8080},
        {"name": "b", "port": 9090},
        {"name": "jaxjob-port", "port": 6666},
    ]
    assert made["spec"]["selector"] == made["metadata"]["labels"]
    assert "training.kubeflow.org/job-role" not in made["metadata"]["labels"]


def test_a_launcher_uses_the_account_that_its_template_names_under_either_name() -> None:
    job = manifests.job("MPIJob", Launcher=1)
    assert built(job, "Launcher")["spec"]["serviceAccountName"] == "j-launcher"
    spec = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    spec["serviceAccountName"] = "s"
    assert built(job, "Launcher")["spec"]["serviceAccountName"] == "s"
    spec["serviceAccount"] = spec.pop("serviceAccountName")
    made = built(job, "Launcher")["spec"]
    assert made["serviceAccount"] == "s"
    assert "serviceAccountName" not in made


def test_a_template_file_replaces_the_container_in_which_workers_wait() -> None:
    text = "- name: own\n  image: '{{.InitContainerImage}}'\n  command: [wait, '{{ .MasterAddr }}', '{{.MaxTries}}']\n"
    options = {"pytorch-init-container-template-file": text, "pytorch-init-container-image": "x:1"}
    made = built(manifests.job("PyTorchJob", Master=1, Worker=1), "Worker", options=options)["spec"]["initContainers"]
    assert [{key: made[0][key] for key in ("name", "image", "command")}] == [
        {"name": "own", "image": "x:1", "command": ["wait", "j-master-0", "100"]}
    ]


def test_v2beta1_pods_are_reached_by_name_and_hold_the_keys() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1)
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["hostNetwork"] = True
    spec = built(job, "Worker")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("j-worker-0", "j")
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert spec["volumes"][0]["secret"]["defaultMode"] == 0o600
    assert spec["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    assert "dnsPolicy" not in built(job, "Launcher")["spec"]


def test_v2beta1_keys_elsewhere_keep_the_modes_that_the_user_arranges() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1, spec={"sshAuthMountPath": "/home/mpi/.ssh"})
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] = ["own"]
    spec = built(job, "Worker")["spec"]
    assert "defaultMode" not in spec["volumes"][0]["secret"]
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/mpi/.ssh"
    assert "command" not in spec["containers"][0]


def test_v2beta1_indexes_are_shifted_where_the_launcher_works_too() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=2, spec={"runLauncherAsWorker": True})
    index = "training.kubeflow.org/replica-index"
    assert built(job, "Launcher")["metadata"]["labels"][index] == "0"
    assert built(job, "Worker", 1)["metadata"]["labels"][index] == "2"
    plain = manifests.ssh_job(Launcher=1, Worker=2)
    assert index not in built(plain, "Launcher")["metadata"]["labels"]
    assert built(plain, "Worker", 1)["metadata"]["labels"][index] == "1"
