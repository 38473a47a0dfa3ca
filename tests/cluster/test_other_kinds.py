"""XGBoostJob, PaddleJob and JAXJob: the environment of their pods, and how such jobs end."""

from __future__ import annotations

import pytest
from tests.cluster import manifests, submitted_job
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.checklist(155)
def test_xgboost_pods_know_the_master_the_workers_and_their_rank(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("XGBoostJob", Master=1, Worker=2))
    for name, rank in {"j-master-0": "0", "j-worker-0": "1", "j-worker-1": "2"}.items():
        assert submitted_job.env(kubelet.pod(name)) == {
            "MASTER_PORT": "9999",
            "MASTER_ADDR": "j-master-0",
            "WORLD_SIZE": "3",
            "RANK": rank,
            "PYTHONUNBUFFERED": "1",
            "WORKER_PORT": "9999",
            "WORKER_ADDRS": "j-worker-0,j-worker-1",
        }, name


@pytest.mark.checklist(156)
def test_an_xgboost_master_alone_knows_of_no_workers(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("XGBoostJob", Master=1))
    assert submitted_job.env(kubelet.pod("j-master-0")) == {
        "MASTER_PORT": "9999",
        "MASTER_ADDR": "j-master-0",
        "WORLD_SIZE": "1",
        "RANK": "0",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.checklist(157)
def test_an_xgboost_job_that_was_never_seen_to_run_still_has_run(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("XGBoostJob", Master=1, Worker=1))

    kubelet.succeed("j-master-0")

    job.becomes("Succeeded")
    found = [(entry["type"], entry["status"], entry["reason"]) for entry in job.conditions]
    assert found == [
        ("Created", "True", "XGBoostJobCreated"),
        ("Running", "False", "XGBoostJobRunning"),
        ("Succeeded", "True", "XGBoostJobSucceeded"),
    ]
    assert job.condition("Succeeded")["message"] == "XGBoostJob j is successfully completed."


@pytest.mark.checklist(158)
def test_a_failed_xgboost_worker_that_may_restart_is_restarted(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    worker = manifests.replicas("XGBoostJob", 1, "OnFailure")
    job = SubmittedJob(api, namespace, manifests.job("XGBoostJob", Master=1, Worker=worker))
    kubelet.run("j-master-0", "j-worker-0")
    job.becomes("Running")
    before = job.pods()["j-worker-0"]["metadata"]["uid"]

    kubelet.fail("j-worker-0")

    assert job.passes_through("Restarting")["reason"] == "XGBoostJobRestarting"
    eventually(lambda: kubelet.pod("j-worker-0")["metadata"]["uid"] != before)
    kubelet.run("j-worker-0")
    job.becomes("Running")
    kubelet.succeed("j-master-0")
    job.becomes("Succeeded")
    assert all("Failed" not in _types(status) for status in job.history())


@pytest.mark.checklist(159)
def test_paddle_workers_without_a_master_meet_at_the_first(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PaddleJob", Worker=2))
    first, second = kubelet.pod("j-worker-0"), kubelet.pod("j-worker-1")
    assert {entry["name"]: entry for entry in first["spec"]["containers"][0]["env"]} == {
        "PYTHONUNBUFFERED": {"name": "PYTHONUNBUFFERED", "value": "1"},
        "PADDLE_JOB_ID": {"name": "PADDLE_JOB_ID", "value": "j"},
        "PADDLE_NNODES": {"name": "PADDLE_NNODES", "value": "2"},
        "POD_IP_DUMMY": {
            "name": "POD_IP_DUMMY",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        },
        "PADDLE_MASTER": {"name": "PADDLE_MASTER", "value": "$(POD_IP_DUMMY):36543"},
    }
    assert submitted_job.env(second) == {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": "j",
        "PADDLE_NNODES": "2",
        "PADDLE_MASTER": "j-worker-0:36543",
    }
    names = [entry["name"] for entry in first["spec"]["containers"][0]["env"]]
    assert names.index("POD_IP_DUMMY") < names.index("PADDLE_MASTER"), "a variable can refer to earlier ones only"


@pytest.mark.checklist(160)
def test_paddle_with_a_master_has_servers_and_trainers(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PaddleJob", Master=1, Worker=2))
    master = submitted_job.env(kubelet.pod("j-master-0"))
    assert (master["PADDLE_SERVER_NUM"], master["PADDLE_MASTER"], master["PADDLE_NNODES"]) == (
        "1",
        "$(POD_IP_DUMMY):36543",
        "3",
    )
    assert "PADDLE_TRAINER_NUM" not in master
    for name in ("j-worker-0", "j-worker-1"):
        worker = submitted_job.env(kubelet.pod(name))
        assert (worker["PADDLE_TRAINER_NUM"], worker["PADDLE_MASTER"]) == ("1", "j-master-0:36543"), name
        assert "PADDLE_SERVER_NUM" not in worker
        assert "POD_IP_DUMMY" not in worker


@pytest.mark.checklist(161)
def test_the_paddle_port_is_called_master(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PaddleJob", Master=1, Worker=1))
    eventually(lambda: job.services() == {"j-master-0", "j-worker-0"})
    for name in ("j-master-0", "j-worker-0"):
        (port,) = kubelet.pod(name)["spec"]["containers"][0]["ports"]
        assert (port["name"], port["containerPort"]) == ("master", 36543)
        (exposed,) = api.get("services", namespace, name)["spec"]["ports"]
        assert (exposed["name"], exposed["port"]) == ("master", 36543)


@pytest.mark.checklist(162)
def test_the_first_paddle_worker_leads_where_there_is_no_master(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PaddleJob", Worker=2))
    roles = {name: submitted_job.labels(kubelet.pod(name)).get("job-role") for name in ("j-worker-0", "j-worker-1")}
    assert roles == {"j-worker-0": "master", "j-worker-1": None}


@pytest.mark.checklist(162)
def test_the_paddle_master_leads_where_there_is_one(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("PaddleJob", Master=1, Worker=1))
    roles = {name: submitted_job.labels(kubelet.pod(name)).get("job-role") for name in ("j-master-0", "j-worker-0")}
    assert roles == {"j-master-0": "master", "j-worker-0": None}


@pytest.mark.checklist(163)
def test_jax_processes_know_their_coordinator_and_their_number(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, manifests.job("JAXJob", Worker=3))
    for index in range(3):
        pod = kubelet.pod(f"j-worker-{index}")
        assert submitted_job.env(pod) == {
            "PYTHONUNBUFFERED": "1",
            "COORDINATOR_PORT": "6666",
            "COORDINATOR_ADDRESS": "j-worker-0",
            "NUM_PROCESSES": "3",
            "PROCESS_ID": str(index),
        }
        assert submitted_job.labels(pod).get("job-role") == ("master" if index == 0 else None)


@pytest.mark.checklist(164)
@pytest.mark.parametrize("kind", ["JAXJob", "PaddleJob"])
def test_a_job_of_workers_succeeds_when_all_have(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job(kind, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    assert job.becomes("Running")["message"] == f"{kind} {namespace}/j is running."
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.counts("Worker")["succeeded"] == 1)
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"})

    kubelet.succeed("j-worker-1")

    succeeded = job.becomes("Succeeded")
    assert (succeeded["reason"], succeeded["message"]) == (f"{kind}Succeeded", f"{kind} {namespace}/j successfully completed.")


@pytest.mark.checklist(164)
@pytest.mark.parametrize("kind", ["JAXJob", "PaddleJob"])
def test_a_failed_worker_that_may_not_restart_fails_the_job(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job(kind, Worker=manifests.replicas(kind, 2, "Never")))
    kubelet.run("j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.fail("j-worker-1")

    failed = job.becomes("Failed")
    assert (failed["reason"], failed["message"]) == (f"{kind}Failed", f"{kind} j is failed because 1 Worker replica(s) failed.")


def _types(status: Object) -> set[str]:
    return {entry["type"] for entry in status.get("conditions", [])}
