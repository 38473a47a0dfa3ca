"""MPIJob v2beta1: workers that run sshd, and the template of the launcher's batch Job."""

from __future__ import annotations

import pytest
from tests.cluster import mpi
from tests.cluster.api import Object
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import Submit, env, labels


@pytest.mark.checklist(143)
def test_pods_are_labelled_by_role_and_found_by_name_under_the_service(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(2, version="v2beta1"))
    worker = kubelet.pod("j-worker-1")
    own = {"operator-name": "mpi-operator", "job-name": "j"}
    assert labels(worker) == {**own, "job-role": "worker", "replica-index": "1"}
    assert labels(mpi.launcher_template(job)) == {**own, "job-role": "launcher"}
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("j-worker-1", "j")
    launcher = mpi.launcher_template(job)["spec"]
    assert (launcher["hostname"], launcher["subdomain"]) == ("j-launcher", "j")


@pytest.mark.checklist(144)
def test_a_worker_runs_sshd_unless_it_has_a_command(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    submit(mpi.job(1, version="v2beta1"))
    worker = kubelet.pod("j-worker-0")
    main = worker["spec"]["containers"][0]
    assert main["command"] == ["/usr/sbin/sshd", "-De"]
    assert "args" not in main
    assert env(worker) == {"K_MPI_JOB_ROLE": "worker"}
    assert worker["spec"]["dnsConfig"]["searches"] == [f"j.{namespace}.svc.cluster.local"]


@pytest.mark.checklist(144)
@pytest.mark.parametrize("own", [{"command": ["/my/sshd"]}, {"args": ["serve"]}])
def test_a_workers_own_command_or_arguments_are_left_alone(submit: Submit, kubelet: FakeKubelet, own: Object) -> None:
    body = mpi.job(1, version="v2beta1")
    mpi.container(body, "Worker").update(own)
    submit(body)
    main = kubelet.pod("j-worker-0")["spec"]["containers"][0]
    assert {key: main[key] for key in ("command", "args") if key in main} == own


ENVIRONMENTS = {
    "OpenMPI": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": "3",
        "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
    },
    "Intel": {
        "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
        "I_MPI_PERHOST": "3",
    },
    "MPICH": {"HYDRA_HOST_FILE": "/etc/mpi/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"},
}


@pytest.mark.checklist(145)
@pytest.mark.parametrize("implementation", ENVIRONMENTS)
@pytest.mark.parametrize("works", [False, True])
def test_the_launchers_environment_is_that_of_the_implementation(submit: Submit, implementation: str, works: bool) -> None:
    spec: Object = {"mpiImplementation": implementation, "slotsPerWorker": 3, "runLauncherAsWorker": works}
    job = submit(mpi.job(1, version="v2beta1", **spec))
    hidden = {} if works else {"NVIDIA_VISIBLE_DEVICES": None, "NVIDIA_DRIVER_CAPABILITIES": None}
    assert env(mpi.launcher_template(job)) == {"K_MPI_JOB_ROLE": "launcher", **ENVIRONMENTS[implementation], **hidden}


@pytest.mark.checklist(146)
@pytest.mark.parametrize(("path", "mode"), [(None, 0o600), ("/home/mpi/.ssh", 0o644)])
def test_both_roles_mount_the_keys(submit: Submit, kubelet: FakeKubelet, path: str | None, mode: int) -> None:
    spec: Object = {"sshAuthMountPath": path} if path else {}
    job = submit(mpi.job(1, version="v2beta1", **spec))
    for spec in (kubelet.pod("j-worker-0")["spec"], mpi.launcher_template(job)["spec"]):
        secret = next(volume for volume in spec["volumes"] if volume["name"] == "ssh-auth")["secret"]
        mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
        assert mounts["ssh-auth"] == (path or "/root/.ssh")
        assert (secret["secretName"], secret["defaultMode"]) == ("j-ssh", mode)  # 0644 is the API server's own default
        assert [(item["key"], item["path"]) for item in secret["items"]] == [
            ("ssh-privatekey", "id_rsa"),
            ("ssh-publickey", "id_rsa.pub"),
            ("ssh-publickey", "authorized_keys"),
        ]


@pytest.mark.checklist(146)
def test_only_the_launcher_mounts_the_files(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(1, version="v2beta1"))
    spec = mpi.launcher_template(job)["spec"]
    config = next(volume for volume in spec["volumes"] if volume["name"] == "mpi-job-config")["configMap"]
    assert config["name"] == "j-config"
    assert {item["key"]: item["mode"] for item in config["items"]} == {"hostfile": 0o444, "discover_hosts.sh": 0o555}
    assert {"name": "mpi-job-config", "mountPath": "/etc/mpi"} in spec["containers"][0]["volumeMounts"]
    worker = kubelet.pod("j-worker-0")["spec"]
    assert {volume["name"] for volume in worker["volumes"]} == {"ssh-auth"}


@pytest.mark.checklist(153)
def test_pods_on_the_hosts_network_still_ask_the_clusters_dns(submit: Submit, kubelet: FakeKubelet) -> None:
    body = mpi.job(1, version="v2beta1")
    for role in ("Launcher", "Worker"):
        mpi.template(body, role)["hostNetwork"] = True
    job = submit(body)
    for spec in (kubelet.pod("j-worker-0")["spec"], mpi.launcher_template(job)["spec"]):
        assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_the_operators_cluster_domain_is_in_hosts_and_search_lists(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--cluster-domain", "example.org", "--enable-scheme", "mpijob"):
        job = isolated.submit(mpi.job(1, version="v2beta1"))
        domain = f"j.{isolated.namespace}.svc.example.org"
        assert isolated.kubelet.pod("j-worker-0")["spec"]["dnsConfig"]["searches"] == [domain]
        assert mpi.files(job)["hostfile"] == f"j-worker-0.{domain} slots=1\n"
