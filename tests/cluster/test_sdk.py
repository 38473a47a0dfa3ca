"""The real `kubeflow-training` client. The tests act as the kubelet."""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
from collections.abc import Callable, Iterator

import pytest
from kubeflow.training import TrainingClient
from tests.cluster import fake_node, jobs_with_leader
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.manifests import CONTAINERS, FIELDS
from tests.cluster.submitted_job import Submit, SubmittedJob
from tools.kube import cluster

Client = Callable[[str], TrainingClient]


@pytest.fixture
def client(kube: cluster.Cluster, namespace: str) -> Iterator[Client]:
    """A client of the SDK for one kind of job. It is for one thread: two would each start a thread pool for it."""
    with contextlib.ExitStack() as stack:

        def connect(kind: str) -> TrainingClient:
            made = TrainingClient(config_file=str(kube.kubeconfig), namespace=namespace, job_kind=kind)
            stack.callback(made.core_api.api_client.close)
            return made

        yield connect


@pytest.fixture
def node(api: Api, kube: cluster.Cluster) -> Iterator[fake_node.FakeNode]:
    with fake_node.fake_node(api, kube) as found:
        yield found


def runs(job: SubmittedJob, kubelet: FakeKubelet, workers: int = 2) -> None:
    kubelet.run(*jobs_with_leader.pods(job.kind, workers))
    job.becomes("Running")


def train(parameters: dict[str, str]) -> None:
    print(parameters)


@pytest.mark.checklist(190)
def test_a_function_becomes_a_job_that_succeeds(submit: Submit, client: Client, kubelet: FakeKubelet) -> None:
    sdk = client("PyTorchJob")
    sdk.create_job(name="j", train_func=train, parameters={"a": "b"}, num_workers=2, packages_to_install=["einops"])

    def play() -> None:
        observer = client("PyTorchJob")
        kubelet.run("j-master-0", "j-worker-0")
        eventually(lambda: observer.is_job_running("j"))
        kubelet.succeed("j-master-0")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play)
        found = sdk.wait_for_job_conditions("j", wait_timeout=60, polling_interval=1)
        playing.result()

    assert found.metadata.name == "j"
    assert [entry.type for entry in found.status.conditions if entry.status == "True"] == ["Created", "Succeeded"]
    variables = {entry["name"]: entry.get("value") for entry in kubelet.pod("j-worker-0")["spec"]["containers"][0]["env"]}
    torchrun = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
    assert [variables[name] for name in torchrun] == ["2", "auto", "1", "j-master-0", "23456"]


@pytest.mark.checklist(190)
def test_a_tensorflow_function_becomes_a_job_that_succeeds(submit: Submit, client: Client, kubelet: FakeKubelet) -> None:
    sdk = client("TFJob")
    sdk.create_job(name="j", train_func=train, parameters={}, num_workers=1, num_chief_replicas=1, num_ps_replicas=1)
    kubelet.run("j-chief-0", "j-ps-0", "j-worker-0")
    eventually(lambda: sdk.is_job_running("j"))
    kubelet.succeed("j-chief-0")
    assert sdk.wait_for_job_conditions("j", wait_timeout=60, polling_interval=1).metadata.name == "j"


@pytest.mark.checklist(191)
@jobs_with_leader.every_kind
def test_a_job_written_without_a_run_policy_can_be_read_and_listed(submit: Submit, client: Client, kind: str) -> None:
    body = jobs_with_leader.job(kind)
    assert "runPolicy" not in body["spec"]
    submit(body)
    sdk = client(kind)
    assert sdk.get_job("j").spec.run_policy is not None
    assert [each.metadata.name for each in sdk.list_jobs()] == ["j"]


@pytest.mark.checklist(192)
@jobs_with_leader.every_kind
def test_there_is_exactly_one_master(submit: Submit, client: Client, kind: str) -> None:
    job = submit(jobs_with_leader.job(kind, 2))
    eventually(lambda: len(job.pods()) == len(jobs_with_leader.pods(kind, 2)))
    assert client(kind).get_job_pod_names("j", is_master=True) == [jobs_with_leader.leader(kind)]
    assert sorted(client(kind).get_job_pod_names("j")) == sorted(jobs_with_leader.pods(kind, 2))


@pytest.mark.checklist(193)
@jobs_with_leader.every_kind
def test_a_replica_is_found_by_its_type_and_index(submit: Submit, client: Client, kind: str) -> None:
    job = submit(jobs_with_leader.job(kind, 2))
    eventually(lambda: len(job.pods()) == len(jobs_with_leader.pods(kind, 2)))
    found = client(kind).get_job_pods("j", replica_type="worker", replica_index=1)
    assert [pod.metadata.name for pod in found] == ["j-worker-1"]


@pytest.mark.checklist(194)
@jobs_with_leader.every_kind
def test_logs_are_those_of_the_masters_training_container(
    submit: Submit, client: Client, kubelet: FakeKubelet, node: fake_node.FakeNode, kind: str
) -> None:
    body = jobs_with_leader.job(kind, 1)
    for spec in body["spec"][FIELDS[kind]].values():
        spec["template"]["spec"]["containers"].append({"name": "sidecar", "image": "side:1"})
    job = submit(body)
    pods = jobs_with_leader.pods(kind, 1)
    for name in pods:
        kubelet.bind(name, node.name)
        for container in kubelet.pod(name)["spec"]["containers"]:
            node.logs[job.namespace, name, container["name"]] = f"{container['name']} of {name}\n"
    kubelet.run(*pods, bind=False)

    logs, _ = client(kind).get_job_logs("j")

    assert logs == {jobs_with_leader.leader(kind): f"{CONTAINERS[kind]} of {jobs_with_leader.leader(kind)}\n"}


@pytest.mark.checklist(195)
def test_verbose_logs_report_which_pods_were_created(
    submit: Submit, client: Client, kubelet: FakeKubelet, node: fake_node.FakeNode
) -> None:
    job = submit(jobs_with_leader.job("PyTorchJob", 1))
    kubelet.bind("j-master-0", node.name)
    node.logs[job.namespace, "j-master-0", "pytorch"] = "epoch 1\n"
    kubelet.run("j-master-0", bind=False)
    job.event("SuccessfulCreatePod")

    logs, events = client("PyTorchJob").get_job_logs("j", verbose=True)

    assert logs == {"j-master-0": "epoch 1\n"}
    assert any("Created pod: j-master-0" in line for line in events["pytorchjob/j"])


@pytest.mark.checklist(196)
@jobs_with_leader.every_kind
def test_a_job_that_has_succeeded_does_not_run(submit: Submit, client: Client, kubelet: FakeKubelet, kind: str) -> None:
    job, sdk = submit(jobs_with_leader.job(kind, 1)), client(kind)
    runs(job, kubelet, 1)
    assert (sdk.is_job_created("j"), sdk.is_job_running("j"), sdk.is_job_succeeded("j")) == (True, True, False)
    kubelet.succeed(*jobs_with_leader.pods(kind, 1))
    job.becomes("Succeeded")
    assert (sdk.is_job_running("j"), sdk.is_job_succeeded("j"), sdk.is_job_failed("j")) == (False, True, False)


@pytest.mark.checklist(197)
def test_an_updated_number_of_replicas_scales_the_job(submit: Submit, client: Client, kubelet: FakeKubelet) -> None:
    job, sdk = submit(jobs_with_leader.job("PyTorchJob", 1)), client("PyTorchJob")
    runs(job, kubelet, 1)
    eventually(lambda: job.counts("Worker")["active"] == 1)
    wanted = copy.deepcopy(sdk.get_job("j"))
    wanted.spec.pytorch_replica_specs["Worker"].replicas = 3
    wanted.metadata.resource_version = None

    sdk.update_job(wanted, "j")

    eventually(lambda: set(job.pods()) == {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"})


@pytest.mark.checklist(197)
def test_a_deleted_job_is_gone(submit: Submit, client: Client) -> None:
    job, sdk = submit(jobs_with_leader.job("PyTorchJob", 1)), client("PyTorchJob")
    eventually(lambda: len(job.pods()) == 2)
    sdk.delete_job("j")
    eventually(lambda: job.gone)
    assert sdk.list_jobs() == []


@pytest.mark.checklist(198)
def test_waiting_for_a_job_that_fails_raises(submit: Submit, client: Client, kubelet: FakeKubelet) -> None:
    job, sdk = submit(jobs_with_leader.job("PyTorchJob", 1, "Never")), client("PyTorchJob")
    runs(job, kubelet, 1)
    kubelet.fail("j-worker-0", code=3)
    with pytest.raises(RuntimeError, match="is Failed"):
        sdk.wait_for_job_conditions("j", wait_timeout=30, polling_interval=1)
    found = sdk.wait_for_job_conditions("j", expected_conditions={"Failed"}, wait_timeout=30, polling_interval=1)
    assert found.status.completion_time is not None


@pytest.mark.checklist(9)
@jobs_with_leader.every_kind
def test_nothing_is_written_into_the_spec(submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str, kind: str) -> None:
    body = jobs_with_leader.job(kind, 1)
    for spec in body["spec"][FIELDS[kind]].values():
        if kind != "MPIJob":
            del spec["replicas"]
    job = submit(body)
    posted = job.read()["spec"]
    runs(job, kubelet, 1)

    assert job.read()["spec"] == posted
    for role, spec in posted[FIELDS[kind]].items():
        assert set(spec) <= {"template", "replicas"}, role
        assert spec["template"]["spec"]["containers"][0] == {"name": CONTAINERS[kind], "image": "train:1"}
