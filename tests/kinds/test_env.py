"""The environment variables of the replicas of each kind, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import built, env, names
from tests.planner import manifests
from tests.planner.manifests import Manifest


def test_tf_config_names_the_whole_cluster_in_a_fixed_form() -> None:
    pod = built(manifests.job("TFJob", Worker=2, PS=1, Chief=1, Evaluator=1), "Worker", 1)
    assert env(pod)["TF_CONFIG"] == (
        '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"evaluator":["j-evaluator-0.n.svc:2222"],"ps":["j-ps-0.n.svc:2222"],'
        '"worker":["j-worker-0.n.svc:2222","j-worker-1.n.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}'
    )


def test_tf_config_of_dynamic_workers_names_themselves_and_the_parameter_servers() -> None:
    job = manifests.job("TFJob", Worker=3, PS=2, Evaluator=1, spec={"enableDynamicWorker": True})
    servers = '["j-ps-0.n.svc:2222","j-ps-1.n.svc:2222"]'
    assert env(built(job, "Worker", 1))["TF_CONFIG"] == (
        '{"cluster":{"worker":{"1":"j-worker-1.n.svc:2222"},"ps":' + servers + '},"task":{"type":"worker","index":1}}'
    )
    assert env(built(job, "PS", 1))["TF_CONFIG"] == (
        '{"cluster":{"worker":{},"ps":["j-ps-1.n.svc:2222"]},"task":{"type":"ps","index":1}}'
    )
    assert env(built(job, "Evaluator"))["TF_CONFIG"] == '{"cluster":{"worker":{},"ps":[]},"task":{"type":"evaluator","index":0}}'


def test_tf_config_of_dynamic_workers_without_parameter_servers_says_null() -> None:
    job = manifests.job("TFJob", Worker=2, spec={"enableDynamicWorker": True})
    assert '"ps":null' in env(built(job, "Worker"))["TF_CONFIG"]


def test_tf_addresses_end_in_the_clusters_domain_if_one_is_set() -> None:
    pod = built(manifests.job("TFJob", Worker=2), "Worker", cluster_domain="cluster.local")
    assert "j-worker-0.n.svc.cluster.local:2222" in env(pod)["TF_CONFIG"]


def test_a_single_tensorflow_replica_is_a_local_job() -> None:
    assert "env" not in built(manifests.job("TFJob", Worker=1), "Worker")["spec"]["containers"][0]


def test_tf_config_stands_only_in_the_tensorflow_container() -> None:
    job = manifests.job("TFJob", Worker=2)
    containers = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "sidecar", "image": "proxy"})
    pod = built(job, "Worker")
    assert names(pod, 0) == []
    assert names(pod, 1) == ["TF_CONFIG"]
    assert pod["spec"]["containers"][1]["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]


def test_a_port_of_the_default_name_is_used_everywhere() -> None:
    job = manifests.job("TFJob", Worker=2)
    container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "tfjob-port", "containerPort": 3333}]
    pod = built(job, "Worker")
    assert "j-worker-1.n.svc:3333" in env(pod)["TF_CONFIG"]
    assert pod["spec"]["containers"][0]["ports"] == [{"name": "tfjob-port", "containerPort": 3333}]


def test_pytorch_variables_of_a_worker_in_the_order_of_the_go_operator() -> None:
    pod = built(manifests.job("PyTorchJob", Master=1, Worker=2, spec={"nprocPerNode": "4"}), "Worker", 1)
    assert list(env(pod).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("MASTER_PORT", "23456"),
        ("PET_MASTER_PORT", "23456"),
        ("MASTER_ADDR", "j-master-0"),
        ("PET_MASTER_ADDR", "j-master-0"),
        ("WORLD_SIZE", "12"),
        ("RANK", "2"),
        ("PET_NODE_RANK", "2"),
        ("PET_NPROC_PER_NODE", "4"),
        ("PET_NNODES", "3"),
    ]


def test_pytorch_without_a_master_has_no_master_variables() -> None:
    pod = built(manifests.job("PyTorchJob", Worker=2), "Worker")
    assert env(pod) == {"PYTHONUNBUFFERED": "1", "PET_NPROC_PER_NODE": "auto", "PET_NNODES": "2"}
    assert "initContainers" not in pod["spec"]


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        pytest.param({}, {"PET_NNODES": "2:2", "PET_RDZV_ENDPOINT": "j-worker-0:23456"}, id="bounds are the present number"),
        pytest.param({"minReplicas": 1}, {"PET_NNODES": "1:1"}, id="one bound is both"),
        pytest.param(
            {"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "etcd"}, {"PET_NNODES": "1:3", "PET_RDZV_BACKEND": "etcd"}
        ),
        pytest.param({"rdzvHost": "h", "rdzvPort": 9, "standalone": True}, {"PET_RDZV_ENDPOINT": "h:9", "PET_STANDALONE": ""}),
        pytest.param({"nProcPerNode": 8}, {"PET_NPROC_PER_NODE": "8"}, id="the deprecated field"),
        pytest.param({"rdzvConf": []}, {"PET_RDZV_BACKEND": "c10d"}, id="an empty list"),
    ],
)
def test_an_elastic_policy_becomes_torchruns_variables(policy: dict[str, Any], wanted: dict[str, str]) -> None:
    found = env(built(manifests.job("PyTorchJob", Worker=2, spec={"elasticPolicy": policy}), "Worker"))
    assert wanted.items() <= found.items()
    assert ("PET_STANDALONE" in found) == policy.get("standalone", False)
    assert ("PET_RDZV_CONF" in found) == (found["PET_RDZV_BACKEND"] == "c10d" and not policy.get("standalone", False))


@pytest.mark.parametrize(
    ("given", "policy", "wanted"),
    [
        pytest.param([], {}, ["1"], id="a store for each round"),
        pytest.param([{"name": "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "value": "0"}], {}, ["0"], id="the user's own word"),
        pytest.param([], {"rdzvBackend": "etcd-v2"}, [], id="a store of somebody else's"),
    ],
)
def test_rounds_of_torchrun_do_not_share_a_store(given: list[Manifest], policy: Manifest, wanted: list[str]) -> None:
    job = manifests.job("PyTorchJob", Worker=2, spec={"elasticPolicy": policy})
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["env"] = given
    found = built(job, "Worker")["spec"]["containers"][0]["env"]
    assert [entry["value"] for entry in found if entry["name"] == "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == wanted


def test_xgboost_replicas_know_master_rank_and_all_workers() -> None:
    pod = built(manifests.job("XGBoostJob", Master=1, Worker=2), "Worker", 1)
    assert list(env(pod).items()) == [
        ("MASTER_PORT", "9999"),
        ("MASTER_ADDR", "j-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", "2"),
        ("PYTHONUNBUFFERED", "1"),
        ("WORKER_PORT", "9999"),
        ("WORKER_ADDRS", "j-worker-0,j-worker-1"),
    ]
    assert "WORKER_ADDRS" not in env(built(manifests.job("XGBoostJob", Master=1), "Master"))


def test_paddle_workers_meet_at_worker_0_or_at_the_master() -> None:
    collective = manifests.job("PaddleJob", Worker=2)
    first = built(collective, "Worker", 0)["spec"]["containers"][0]["env"]
    assert {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in first
    assert {"name": "PADDLE_MASTER", "value": "$(POD_IP_DUMMY):36543"} in first
    wanted = {"PYTHONUNBUFFERED": "1", "PADDLE_JOB_ID": "j", "PADDLE_NNODES": "2", "PADDLE_MASTER": "j-worker-0:36543"}
    assert env(built(collective, "Worker", 1)) == wanted
    servers = manifests.job("PaddleJob", Master=1, Worker=1)
    assert env(built(servers, "Master"))["PADDLE_SERVER_NUM"] == "1"
    worker = env(built(servers, "Worker"))
    assert (worker["PADDLE_TRAINER_NUM"], worker["PADDLE_MASTER"]) == ("1", "j-master-0:36543")


def test_jax_processes_know_their_coordinator() -> None:
    assert env(built(manifests.job("JAXJob", Worker=3), "Worker", 2)) == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "6666",
        "COORDINATOR_ADDRESS": "j-worker-0",
        "NUM_PROCESSES": "3",
        "PROCESS_ID": "2",
    }


def test_variables_stand_in_every_container_after_the_users_own() -> None:
    job = manifests.job("JAXJob", Worker=1)
    spec = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "PROCESS_ID", "value": "mine"}]
    spec["containers"].append({"name": "sidecar", "image": "i"})
    spec["initContainers"] = [{"name": "first", "image": "i"}]
    pod = built(job, "Worker")
    assert names(pod, 0)[0] == "PROCESS_ID"
    assert names(pod, 0)[-1] == "PROCESS_ID"
    assert "PROCESS_ID" in names(pod, 1)
    assert "env" not in pod["spec"]["initContainers"][0]


@pytest.mark.parametrize(
    ("implementation", "wanted"),
    [
        ("Intel", ["I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "I_MPI_PERHOST"]),
        ("MPICH", ["HYDRA_HOST_FILE", "HYDRA_LAUNCH_EXTRA_ARGS"]),
    ],
)
def test_v2beta1_launchers_of_other_implementations_have_their_own_variables(implementation: str, wanted: list[str]) -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1, spec={"mpiImplementation": implementation})
    found = names(built(job, "Launcher"))
    assert found == ["K_MPI_JOB_ROLE", *wanted, "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"]


def test_elastic_workers_wait_longer_for_each_other_than_an_import_takes() -> None:
    name = "HOROVOD_GLOO_TIMEOUT_SECONDS"
    for job in (manifests.job("MPIJob", Launcher=1, Worker=1), manifests.ssh_job(Launcher=1, Worker=1)):
        container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        container["command"] = ["horovodrun", "-np", "1", "train"]
        assert name not in names(built(job, "Launcher"))
        container["command"] = ["horovodrun", "-np", "1", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]
        assert env(built(job, "Launcher"))[name] == "300"
        assert name not in names(built(job, "Worker"))
        container["env"] = [{"name": name, "value": "20"}]
        assert env(built(job, "Launcher"))[name] == "20"


def test_horovodrun_may_take_longer_than_its_30_seconds_to_reach_all_workers() -> None:
    """The limit counts from the start of horovodrun: an elastic one spends part of it waiting for its first workers."""
    name = "HOROVOD_START_TIMEOUT"
    for job in (manifests.job("MPIJob", Launcher=1, Worker=1), manifests.ssh_job(Launcher=1, Worker=1)):
        container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        container["command"] = ["mpirun", "-n", "1", "train"]
        assert name not in names(built(job, "Launcher"))
        container["command"] = ["sh", "-c", "exec /usr/bin/horovodrun -np 1 train"]
        assert env(built(job, "Launcher"))[name] == "300"
        container["command"] = ["horovodrun", "-np", "1", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]
        assert env(built(job, "Launcher"))[name] == "900", "600 s of HOROVOD_ELASTIC_TIMEOUT and 300 s"
        job["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "idle"}
        found = env(built(job, "Launcher"))
        assert int(found[name]) >= int(found["HOROVOD_ELASTIC_TIMEOUT"]) + 300
        container["env"] = [{"name": name, "value": "20"}]
        assert env(built(job, "Launcher"))[name] == "20"


def test_what_the_user_sets_for_open_mpi_5_is_kept() -> None:
    for job in (manifests.job("MPIJob", Launcher=1, Worker=1), manifests.ssh_job(Launcher=1, Worker=1)):
        container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "PRTE_MCA_prte_default_hostfile", "value": "/mine"}]
        assert names(built(job, "Launcher")).count("PRTE_MCA_prte_default_hostfile") == 1


def test_a_launcher_that_works_too_sees_its_gpus() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=1, spec={"runLauncherAsWorker": True})
    assert "NVIDIA_VISIBLE_DEVICES" not in names(built(job, "Launcher"))
    v1 = manifests.job("MPIJob", Launcher=1, Worker=1)
    assert "NVIDIA_VISIBLE_DEVICES" in names(built(v1, "Launcher"))
    container = v1["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    assert "NVIDIA_VISIBLE_DEVICES" not in names(built(v1, "Launcher"))
