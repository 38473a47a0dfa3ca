"""PyTorchJob: the elastic policy, its autoscaler, and scaling."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import manifests, submitted_job
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob

from traincrew.model import naming

pytestmark = pytest.mark.usefixtures("operator")

METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]


def elastic(workers: int, run: Object | None = None, **policy: Any) -> Object:
    return manifests.job("PyTorchJob", Worker=workers, spec={"elasticPolicy": policy}, run=run)


@pytest.mark.checklist(95)
def test_an_elastic_job_succeeds_with_its_first_worker(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(3, minReplicas=1, maxReplicas=3))
    kubelet.run("j-worker-0", "j-worker-1", "j-worker-2")
    job.becomes("Running")

    kubelet.succeed("j-worker-1")

    assert job.becomes("Succeeded")["message"] == f"PyTorchJob {namespace}/j successfully completed."


@pytest.mark.checklist(95)
def test_an_elastic_job_with_a_master_succeeds_with_its_master(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    body = manifests.job("PyTorchJob", Master=1, Worker=1, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 2}})
    job = SubmittedJob(api, namespace, body)
    kubelet.run("j-master-0", "j-worker-0")
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.counts("Worker")["succeeded"] == 1)
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"})


@pytest.mark.checklist(98)
def test_an_elastic_policy_gives_bounds_backend_and_rendezvous_host(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=3))
    for name in ("j-worker-0", "j-worker-1"):
        assert submitted_job.env(kubelet.pod(name)) == {
            "PYTHONUNBUFFERED": "1",
            "PET_NPROC_PER_NODE": "auto",
            "PET_RDZV_ENDPOINT": "j-worker-0:23456",
            "PET_RDZV_BACKEND": "c10d",
            "PET_NNODES": "1:3",
            "PET_RDZV_CONF": "last_call_timeout=7,keep_alive_interval=1,keep_alive_max_attempt=5",
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        }, name


@pytest.mark.checklist(98)
def test_workers_meet_at_the_first_worker_even_if_there_is_a_master(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    body = manifests.job("PyTorchJob", Master=1, Worker=1, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}})
    SubmittedJob(api, namespace, body)
    env = submitted_job.env(kubelet.pod("j-master-0"))
    assert (env["PET_RDZV_ENDPOINT"], env["PET_NNODES"], env["MASTER_ADDR"]) == ("j-worker-0:23456", "1:3", "j-master-0")


@pytest.mark.checklist(99)
def test_restarts_id_and_configuration_of_the_rendezvous_are_passed_on(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    conf = [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]
    SubmittedJob(api, namespace, elastic(1, maxReplicas=3, maxRestarts=5, rdzvId="x", rdzvConf=conf))
    env = submitted_job.env(kubelet.pod("j-worker-0"))
    assert (env["PET_MAX_RESTARTS"], env["PET_RDZV_ID"], env["PET_RDZV_CONF"]) == ("5", "x", "a=1,b=2")


@pytest.mark.checklist(99)
def test_without_a_configuration_of_the_rendezvous_workers_do_not_wait_long_for_others(
    api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    SubmittedJob(api, namespace, elastic(1, maxReplicas=3, rdzvConf=[]))
    conf = submitted_job.env(kubelet.pod("j-worker-0"))["PET_RDZV_CONF"]
    assert conf == "last_call_timeout=7,keep_alive_interval=1,keep_alive_max_attempt=5"


@pytest.mark.checklist(100)
def test_another_rendezvous_host_and_a_single_node(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, elastic(1, rdzvHost="etcd.infra", rdzvPort=2379, rdzvBackend="etcd-v2", standalone=True))
    env = submitted_job.env(kubelet.pod("j-worker-0"))
    assert (env["PET_RDZV_ENDPOINT"], env["PET_RDZV_BACKEND"]) == ("etcd.infra:2379", "etcd-v2")
    assert "PET_STANDALONE" in env
    assert not env["PET_STANDALONE"]


@pytest.mark.checklist(100)
def test_only_the_port_of_the_rendezvous_host_may_be_given(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, elastic(1, rdzvPort=29400))
    env = submitted_job.env(kubelet.pod("j-worker-0"))
    assert env["PET_RDZV_ENDPOINT"] == "j-worker-0:29400"
    assert "PET_STANDALONE" not in env


@pytest.mark.checklist(101)
@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        pytest.param({}, "2:2", id="no bound is the present number"),
        pytest.param({"minReplicas": 4}, "4:4", id="the lower bound is both"),
        pytest.param({"maxReplicas": 5}, "5:5", id="the upper bound is both"),
    ],
)
def test_bounds_that_are_left_out(policy: Object, bounds: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    SubmittedJob(api, namespace, elastic(2, rdzvBackend="c10d", **policy))
    assert submitted_job.env(kubelet.pod("j-worker-1"))["PET_NNODES"] == bounds


@pytest.mark.checklist(102)
def test_metrics_make_an_autoscaler_on_the_workers(api: Api, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=4, metrics=METRICS))

    scaler = _autoscaler(api, namespace)

    assert scaler["spec"]["scaleTargetRef"] == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j"}
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (1, 4)
    assert scaler["spec"]["metrics"] == METRICS
    assert scaler["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "name": "j",
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.checklist(103)
def test_without_metrics_there_is_no_autoscaler(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=4))
    kubelet.run("j-worker-0", "j-worker-1")
    job.becomes("Running")
    consistently(lambda: api.names("horizontalpodautoscalers", namespace) == set())


@pytest.mark.checklist(104)
def test_an_edited_bound_reaches_the_autoscaler(api: Api, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=4, metrics=METRICS))
    uid = _autoscaler(api, namespace)["metadata"]["uid"]

    job.patch({"elasticPolicy": {"maxReplicas": 9}})

    eventually(lambda: _autoscaler(api, namespace)["spec"]["maxReplicas"] == 9)
    scaler = _autoscaler(api, namespace)
    assert (scaler["metadata"]["uid"], scaler["spec"]["minReplicas"], scaler["spec"]["metrics"]) == (uid, 1, METRICS)


@pytest.mark.checklist(104)
def test_an_autoscaler_that_was_edited_is_corrected(api: Api, namespace: str) -> None:
    SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=4, metrics=METRICS))
    _autoscaler(api, namespace)
    api.patch("horizontalpodautoscalers", namespace, "j", {"spec": {"maxReplicas": 50}})
    eventually(lambda: _autoscaler(api, namespace)["spec"]["maxReplicas"] == 4)


@pytest.mark.checklist(105)
def test_suspending_removes_the_autoscaler_and_resuming_brings_it_back(api: Api, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(2, minReplicas=1, maxReplicas=4, metrics=METRICS))
    first = _autoscaler(api, namespace)["metadata"]["uid"]

    job.suspend()
    eventually(lambda: api.names("horizontalpodautoscalers", namespace) == set())
    job.suspend(False)

    assert _autoscaler(api, namespace)["metadata"]["uid"] != first


@pytest.mark.checklist(105)
def test_the_end_of_a_job_is_the_end_of_its_autoscaler(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, elastic(1, minReplicas=1, maxReplicas=4, metrics=METRICS))
    _autoscaler(api, namespace)
    kubelet.run("j-worker-0")
    kubelet.succeed("j-worker-0")
    job.becomes("Succeeded")
    eventually(lambda: api.names("horizontalpodautoscalers", namespace) == set())


@pytest.mark.checklist(106)
def test_scaling_down_takes_the_last_worker_and_leaves_the_job_running(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    body = elastic(3, minReplicas=1, maxReplicas=3)
    body["metadata"]["annotations"] = {naming.START_SECONDS: "1"}
    job = SubmittedJob(api, namespace, body)
    kubelet.run("j-worker-0", "j-worker-1", "j-worker-2")
    job.becomes("Running")
    uids = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}

    api.patch("pytorchjobs", namespace, "j", {"spec": {"replicas": 2}}, "scale")

    # No worker is deleted while the others may wait for its processes in their first rendezvous.
    eventually(lambda: job.pods()["j-worker-2"]["metadata"].get("deletionTimestamp"), 120.0)
    kubelet.gone("j-worker-2")
    eventually(lambda: set(job.pods()) == job.services() == {"j-worker-0", "j-worker-1"})
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"})
    assert {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == {
        name: uid for name, uid in uids.items() if name != "j-worker-2"
    }
    assert all("Failed" not in states and "Restarting" not in states for states in _all_states(job))


def _autoscaler(api: Api, namespace: str) -> Object:
    found: Object = eventually(lambda: api.find("horizontalpodautoscalers", namespace, "j"))
    return found


def _all_states(job: SubmittedJob) -> list[set[str]]:
    return [{entry["type"] for entry in status.get("conditions", [])} for status in job.history()]
