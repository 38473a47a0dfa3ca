"""PyTorchJob: the environment of its pods, and how the job runs, succeeds and fails."""

from __future__ import annotations

import pytest
from tests.cluster import manifests, submitted_job
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob

pytestmark = pytest.mark.usefixtures("operator")

RANKS = {"j-master-0": "0", "j-worker-0": "1", "j-worker-1": "2"}
"""The pods of one master and two workers, with their ranks."""


@pytest.mark.checklist(81)
def test_every_pod_knows_the_size_of_the_world_and_its_rank(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    for name, rank in RANKS.items():
        env = submitted_job.env(kubelet.pod(name))
        assert (env["WORLD_SIZE"], env["RANK"], env["PET_NODE_RANK"]) == ("3", rank, rank), name


@pytest.mark.checklist(82)
def test_every_pod_finds_the_master_the_master_itself_too(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    for name in RANKS:
        env = submitted_job.env(kubelet.pod(name))
        assert (env["MASTER_ADDR"], env["PET_MASTER_ADDR"]) == ("j-master-0", "j-master-0"), name
        assert (env["MASTER_PORT"], env["PET_MASTER_PORT"]) == ("23456", "23456"), name


@pytest.mark.checklist(82)
def test_a_port_of_the_master_that_the_user_names_is_the_one_to_be_found(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    master = manifests.replicas("PyTorchJob", 1, ports=[{"name": "pytorchjob-port", "containerPort": 1234}])
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=master, Worker=1))
    for name in ("j-master-0", "j-worker-0"):
        env = submitted_job.env(kubelet.pod(name))
        assert (env["MASTER_PORT"], env["PET_MASTER_PORT"]) == ("1234", "1234"), name


@pytest.mark.checklist(83)
def test_torchrun_gets_the_number_of_nodes_and_of_processes(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    for name in RANKS:
        env = submitted_job.env(kubelet.pod(name))
        wanted = {"PET_NNODES": "3", "PET_NPROC_PER_NODE": "auto", "PYTHONUNBUFFERED": "1"}
        assert {key: env[key] for key in wanted} == wanted, name


@pytest.mark.checklist(84)
def test_processes_per_node_multiply_the_world(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2, spec={"nprocPerNode": "4"}))
    for name, rank in RANKS.items():
        env = submitted_job.env(kubelet.pod(name))
        assert (env["WORLD_SIZE"], env["PET_NPROC_PER_NODE"], env["RANK"]) == ("12", "4", rank), name


@pytest.mark.checklist(84)
@pytest.mark.parametrize("word", ["auto", "gpu", "cpu"])
def test_a_word_for_the_processes_per_node_multiplies_nothing(word: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2, spec={"nprocPerNode": word}))
    env = submitted_job.env(kubelet.pod("j-worker-0"))
    assert (env["WORLD_SIZE"], env["PET_NPROC_PER_NODE"]) == ("3", word)


@pytest.mark.checklist(85)
def test_the_environment_is_in_every_container_but_in_no_init_container(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    worker = manifests.replicas("PyTorchJob", 1, env=[{"name": "MINE", "value": "x"}])
    worker["template"]["spec"]["containers"].append({"name": "sidecar", "image": "side:1"})
    worker["template"]["spec"]["initContainers"] = [{"name": "first", "image": "init:1"}]
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=worker))

    pod = kubelet.pod("j-worker-0")

    main, sidecar = submitted_job.env(pod, 0), submitted_job.env(pod, 1)
    assert main.pop("MINE") == "x"
    assert main == sidecar
    assert (sidecar["RANK"], sidecar["WORLD_SIZE"], sidecar["PET_NNODES"]) == ("1", "2", "2")
    assert [container["name"] for container in pod["spec"]["initContainers"]] == ["first", "init-pytorch"]
    assert not any(container.get("env") for container in pod["spec"]["initContainers"])


@pytest.mark.checklist(86)
def test_without_a_master_only_torchrun_variables_are_set(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=2))
    for name in ("j-worker-0", "j-worker-1"):
        env = submitted_job.env(kubelet.pod(name))
        assert env == {"PYTHONUNBUFFERED": "1", "PET_NPROC_PER_NODE": "auto", "PET_NNODES": "2"}, name


@pytest.mark.checklist(91)
def test_the_master_carries_the_master_role_and_nobody_else(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    roles = {name: submitted_job.labels(kubelet.pod(name)).get("job-role") for name in RANKS}
    assert roles == {"j-master-0": "master", "j-worker-0": None, "j-worker-1": None}


@pytest.mark.checklist(91)
def test_without_a_master_the_first_worker_carries_the_master_role(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=2))
    roles = {name: submitted_job.labels(kubelet.pod(name)).get("job-role") for name in ("j-worker-0", "j-worker-1")}
    assert roles == {"j-worker-0": "master", "j-worker-1": None}


@pytest.mark.checklist(92)
def test_a_job_runs_when_its_master_runs_not_when_only_workers_do(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["active"] == 2)
    consistently(lambda: job.states() == {"Created": "True"})

    kubelet.run("j-master-0")

    running = job.becomes("Running")
    assert (running["reason"], running["message"]) == ("PyTorchJobRunning", "PyTorchJob j is running.")


@pytest.mark.checklist(93)
def test_a_job_succeeds_with_its_master_while_workers_still_run(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    kubelet.run(*RANKS)
    job.becomes("Running")

    kubelet.succeed("j-master-0")

    succeeded = job.becomes("Succeeded")
    assert (succeeded["reason"], succeeded["message"]) == ("PyTorchJobSucceeded", "PyTorchJob j is successfully completed.")
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]


@pytest.mark.checklist(93)
def test_workers_that_are_done_do_not_end_a_job_that_has_a_master(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    kubelet.run(*RANKS)
    kubelet.succeed("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["succeeded"] == 2)
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"})


@pytest.mark.checklist(94)
def test_without_a_master_all_workers_must_succeed(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    assert job.becomes("Running")["message"] == f"PyTorchJob {namespace}/j is running."
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"})

    kubelet.succeed("j-worker-1")

    assert job.becomes("Succeeded")["message"] == f"PyTorchJob {namespace}/j successfully completed."


@pytest.mark.checklist(96)
def test_a_failed_worker_that_may_not_restart_fails_the_job(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    worker = manifests.replicas("PyTorchJob", 2, "Never")
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=worker))
    kubelet.run(*RANKS)
    job.becomes("Running")

    kubelet.fail("j-worker-1")

    failed = job.becomes("Failed")
    assert (failed["reason"], failed["message"]) == (
        "PyTorchJobFailed",
        "PyTorchJob j is failed because 1 Worker replica(s) failed.",
    )
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Failed", "True")]


@pytest.mark.checklist(97)
def test_a_failed_worker_that_may_restart_is_re_created(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(
        api, namespace, manifests.job("PyTorchJob", Master=1, Worker=manifests.replicas("PyTorchJob", 2, "OnFailure"))
    )
    kubelet.run(*RANKS)
    job.becomes("Running")
    uids = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}

    kubelet.fail("j-worker-1")

    restarting = job.passes_through("Restarting")
    assert restarting["reason"] == "PyTorchJobRestarting"
    assert restarting["message"] == "job j is restarting because Worker replica(s) failed."
    eventually(lambda: kubelet.pod("j-worker-1")["metadata"]["uid"] != uids["j-worker-1"])
    kubelet.run("j-worker-1")
    job.becomes("Running")
    assert "Restarting" not in job.states()
    others = {name: pod["metadata"]["uid"] for name, pod in job.pods().items() if name != "j-worker-1"}
    assert others == {name: uid for name, uid in uids.items() if name != "j-worker-1"}


@pytest.mark.checklist(107)
def test_the_status_reports_how_to_select_the_workers(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    kubelet.run(*RANKS)
    job.becomes("Running")

    selector = job.status["replicaStatuses"]["Worker"]["selector"]

    assert selector == (
        "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
    assert {pod["metadata"]["name"] for pod in api.all("pods", namespace, selector)} == {"j-worker-0", "j-worker-1"}


@pytest.mark.checklist(108)
def test_a_permanent_exit_code_ends_the_job_with_a_time_so_that_it_can_expire(
    api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    worker = manifests.replicas("PyTorchJob", 1, "ExitCode")
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=worker))
    kubelet.run("j-master-0", "j-worker-0")
    job.becomes("Running")

    kubelet.fail("j-worker-0", code=1)

    failed = job.becomes("Failed")
    assert (failed["reason"], failed["message"]) == ("PyTorchJobFailed", 'job "j" is failing because "Worker" replica(s) failed.')
    assert job.status["completionTime"] >= job.status["startTime"]
    assert "Restarting" not in job.states()
    assert job.events("PyTorchJobRestarting") == []
    job.patch({"runPolicy": {"ttlSecondsAfterFinished": 0}})
    eventually(lambda: job.gone)


@pytest.mark.checklist(108)
def test_a_job_that_a_permanent_exit_code_ended_expires_by_itself(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    worker = manifests.replicas("PyTorchJob", 1, "ExitCode")
    body = manifests.job("PyTorchJob", Master=1, Worker=worker, run={"ttlSecondsAfterFinished": 1})
    job = SubmittedJob(api, namespace, body)
    kubelet.run("j-master-0", "j-worker-0")
    kubelet.fail("j-worker-0", code=127)
    eventually(lambda: job.gone)
