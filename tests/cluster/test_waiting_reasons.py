"""The waiting reason of a job: in the status, as an event, and in the columns of `kubectl get -o wide`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import isolated_namespace, jobs_with_leader, manifests
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import SubmittedJob
from tests.cluster.waiting_cases import FAST, SLOW, Scenario, WaitingCase
from tools.kube import cluster

CRDS = pathlib.Path(__file__).parent / "crds"
VOLCANO = "scheduling.volcano.sh/v1beta1"


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("case", [pytest.param(each, id=name) for name, each in FAST.items()])
def test_what_keeps_a_job_from_running_is_reported_until_it_is_fixed(
    case: WaitingCase, kube: cluster.Cluster, api: Api, namespace: str
) -> None:
    scenario = Scenario(api, namespace)
    case.cause(scenario)
    _is_reported(scenario.job, case, kube)
    case.fix(scenario)
    _is_cleared(scenario, case, kube)


@pytest.mark.usefixtures("operator")
def test_what_takes_too_long_is_reported_until_it_is_fixed(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    scenarios = [(Scenario(api, namespace, name), case) for name, case in SLOW.items()]
    for scenario, case in reversed(scenarios):  # the first, which is over soonest, is brought about last
        case.cause(scenario)
    for scenario, case in scenarios:
        _is_reported(scenario.job, case, kube)
        case.fix(scenario)
        _is_cleared(scenario, case, kube)
    _events_were_listed_once(kube, namespace)


@pytest.mark.usefixtures("operator")
@jobs_with_leader.every_kind
def test_jobs_of_every_kind_say_why(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2))
    for name in jobs_with_leader.pods(kind, 2):
        kubelet.pod(name)
        kubelet.unschedulable(name, "0/9 nodes are available: 9 Insufficient memory.")
    count = len(jobs_with_leader.pods(kind, 2))
    eventually(lambda: job.why["message"].endswith(f"9 Insufficient memory. (the same for {count} of {count} pods)"))
    assert job.why["reason"] == "Unschedulable"
    kubelet.run(*jobs_with_leader.pods(kind, 2))
    job.becomes("Running")
    eventually(lambda: not job.why)


@pytest.mark.usefixtures("operator")
def test_an_explanation_is_dated_by_its_first_appearance(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=1))
    kubelet.pod("j-worker-0")
    kubelet.unschedulable("j-worker-0", "0/1 nodes are available: 1 Insufficient cpu.")
    eventually(lambda: job.why.get("reason") == "Unschedulable")
    since = job.why["since"]
    kubelet.unschedulable("j-worker-0", "0/2 nodes are available: 2 Insufficient cpu.")
    eventually(lambda: "0/2 nodes" in job.why["message"])
    assert job.why["since"] == since


@pytest.mark.usefixtures("operator")
def test_a_job_that_is_invalid_from_the_start_fails_and_says_why(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    worker = manifests.replicas("PyTorchJob", 1, "Sometimes")
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=worker))

    failed = job.becomes("Failed")

    text = "spec.pytorchReplicaSpecs[Worker].restartPolicy: unsupported value 'Sometimes'"
    assert failed["reason"] == "PyTorchJobFailedValidation"
    assert text in failed["message"]
    assert job.status["completionTime"]
    assert (job.why["reason"], text in job.why["message"]) == ("InvalidSpec", True)
    assert job.event("PyTorchJobFailedValidation", text)["type"] == "Warning"
    assert "InvalidSpec" in _row(kube, job)
    consistently(lambda: job.why.get("reason") == "InvalidSpec" and not job.pods(), 0.5)


@pytest.mark.usefixtures("operator")
def test_a_job_that_has_failed_says_of_what(kube: cluster.Cluster, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    master = manifests.replicas("PyTorchJob", 1, "Never")
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=master))
    kubelet.pod("j-master-0")
    kubelet.run("j-master-0")
    kubelet.fail("j-master-0", code=3, message="Traceback …\nValueError: bad shape\n")
    job.becomes("Failed")
    assert "ReplicaFailed   Master 0 failed with exit code 3: ValueError: bad shape" in _row(kube, job)


@pytest.fixture
def volcano(second_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[IsolatedNamespace]:
    kube, api, kubeconfig = second_kube
    result = kube.kubectl("apply", "-f", str(CRDS / "volcano.yaml"))
    assert result.returncode == 0, result.stderr
    eventually(lambda: api.call("GET", f"/apis/{VOLCANO}/podgroups")["items"] is not None)
    placed = isolated_namespace.created(kube, api, "why-volcano", kubeconfig)
    with placed as there, there.operator("--gang-scheduler-name", "volcano"):
        yield there


def test_a_job_that_waits_for_its_gang_says_so(volcano: IsolatedNamespace) -> None:
    def admit(scenario: Scenario) -> None:
        scenario.api.patch("podgroups", scenario.namespace, scenario.name, {"status": {"phase": "Inqueue"}}, "status", VOLCANO)

    case = WaitingCase("WaitingForGang", ("PodGroup {job} is not admitted yet",), Scenario.submit, admit)
    scenario = Scenario(volcano.api, volcano.namespace)
    case.cause(scenario)
    _is_reported(scenario.job, case, volcano.kube)
    assert not scenario.job.pods()
    case.fix(scenario)
    _is_cleared(scenario, case, volcano.kube)


def _is_reported(job: SubmittedJob, case: WaitingCase, kube: cluster.Cluster) -> None:
    texts = [text.format(job=job.name) for text in case.says]

    def explained() -> bool:
        why = job.why
        return why.get("reason") == case.reason and all(text in why["message"] for text in texts)

    eventually(explained, 60, f"{job.name} does not say {case.reason} {texts}")
    assert job.why["since"]
    assert job.event(case.reason, texts[0])["type"] == "Warning"
    row = _row(kube, job)
    assert case.reason in row
    assert all(text in row for text in texts)


def _is_cleared(scenario: Scenario, case: WaitingCase, kube: cluster.Cluster) -> None:
    eventually(lambda: scenario.job.why.get("reason") != case.reason, because=f"{case.reason} is still reported")
    scenario.run()
    scenario.job.becomes("Running")
    eventually(lambda: not scenario.job.why)
    assert case.reason not in _row(kube, scenario.job)


def _row(kube: cluster.Cluster, job: SubmittedJob) -> str:
    result = kube.kubectl("get", job.plural, job.name, "-n", job.namespace, "-o", "wide")
    assert result.returncode == 0, result.stderr
    header, row = result.stdout.splitlines()
    assert header.split() == ["NAME", "STATE", "AGE", "WORKERS", "ELASTIC", "WHY", "MESSAGE"]
    return row


def _events_were_listed_once(kube: cluster.Cluster, namespace: str) -> None:
    asked = [
        entry["requestURI"]
        for entry in kube.audit()
        if entry["verb"] == "list"
        and entry["objectRef"].get("resource") == "events"
        and entry["objectRef"].get("namespace") == namespace
        and "involvedObject.uid" in entry["requestURI"]
    ]
    assert asked
    assert len(asked) == len(set(asked))
