"""Kueue with its own integrations: it suspends jobs, admits them with node selectors, and preempts them."""

from __future__ import annotations

import contextlib
import shlex
import uuid
from collections.abc import Iterator

import pytest
from tests.cluster import installed_operators, jobs_with_leader, manifests, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import cluster_with_controllers, kueue
from tools.kube import cluster

KINDS = [
    pytest.param(kind, version, id=f"{kind}-{version}")
    for kind, version in [
        *((kind, "v1") for kind in jobs_with_leader.EVERY if kind.lower() in kueue.FRAMEWORKS),
        ("MPIJob", "v2beta1"),
    ]
]
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/workloads"


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster_with_controllers.started() as started, contextlib.ExitStack() as stack:
        stack.enter_context(kueue.running(started, tmp_path_factory.mktemp("kueue")))
        stack.enter_context(operators.running(cluster_with_controllers.account(started)))
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


@pytest.fixture
def namespace(kube: cluster.Cluster) -> str:
    """A namespace with a queue that admits three CPUs."""
    name = f"team-{uuid.uuid4().hex[:8]}"
    assert kube.kubectl("create", "namespace", name).returncode == 0
    installed_operators.apply(kube, *kueue.queues(3, name))
    return name


class QueuedJob:
    """A job with a leader and a worker, which need a CPU each."""

    def __init__(self, api: Api, namespace: str, name: str, kind: str, version: str) -> None:
        self.api, self.namespace, self.name = api, namespace, name
        self.plural, self.version, self.field = f"{kind.lower()}s", version, manifests.FIELDS[kind]
        self.kubelet = FakeKubelet(api, namespace)
        self.kind = kind

    def submit(self, cpus: int = 1, labels: Object | None = None) -> None:
        body = jobs_with_leader.job(self.kind, 1, name=self.name)
        body["apiVersion"] = f"kubeflow.org/{self.version}"
        body["metadata"]["labels"] = {kueue.QUEUE_NAME: "main", **(labels or {})}
        for spec in body["spec"][self.field].values():
            spec["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpus)}}
        self.api.create(self.namespace, body)

    def stored(self) -> Object:
        return self.api.get(self.plural, self.namespace, self.name, version=self.version)

    @property
    def suspended(self) -> bool:
        return bool(self.stored()["spec"]["runPolicy"].get("suspend"))

    def is_true(self, condition: str) -> bool:
        conditions = self.stored().get("status", {}).get("conditions", ())
        return any(each["type"] == condition and each["status"] == "True" for each in conditions)

    def templates(self) -> list[Object]:
        return [spec["template"] for spec in self.stored()["spec"][self.field].values()]

    def pods(self) -> list[Object]:
        return self.api.all("pods", self.namespace, f"training.kubeflow.org/job-name={self.name}")

    def run(self) -> None:
        eventually(lambda: len(self.pods()) == 2, 60)
        for pod in self.pods():
            self.kubelet.run(pod["metadata"]["name"])
        eventually(lambda: self.is_true("Running"), 60)

    def end_of_pods(self) -> None:
        """The kubelet ends the pods that are deleted."""

        def none_left() -> bool:
            for pod in self.pods():
                if pod["metadata"].get("deletionTimestamp"):
                    self.kubelet.gone(pod["metadata"]["name"])
            return not self.pods()

        eventually(none_left, 60)

    def succeed(self) -> None:
        leaders = [pod["metadata"]["name"] for pod in self.pods() if "-worker-" not in pod["metadata"]["name"]]
        self.kubelet.succeed(*leaders)
        eventually(lambda: self.is_true("Succeeded"), 60)

    def workload(self) -> Object:
        found = self.api.call("GET", WORKLOADS.format(self.namespace))["items"]
        return next(each for each in found if each["metadata"]["ownerReferences"][0]["name"] == self.name)

    def workload_is(self, condition: str) -> bool:
        conditions = self.workload().get("status", {}).get("conditions", ())
        return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def selectors(objects: list[Object]) -> list[Object | None]:
    return [each["spec"].get("nodeSelector") for each in objects]


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_job_is_admitted_preempted_and_admitted_again(api: Api, namespace: str, kind: str, version: str) -> None:
    job = QueuedJob(api, namespace, "job", kind, version)
    job.submit()
    job.run()
    assert selectors(job.pods()) == [{"pool": "reserved"}] * 2
    assert [pod_set["count"] for pod_set in job.workload()["spec"]["podSets"]] == [1, 1]
    before = {pod["metadata"]["uid"] for pod in job.pods()}

    urgent = QueuedJob(api, namespace, "urgent", kind, version)
    urgent.submit(labels={"kueue.x-k8s.io/priority-class": "urgent"})
    eventually(lambda: job.suspended, 60)
    job.end_of_pods()
    urgent.run()
    assert job.is_true("Suspended")
    assert selectors(job.templates()) == [None] * 2, "Kueue restores the templates of a job that it evicts"
    urgent.succeed()

    job.run()
    assert selectors(job.pods()) == [{"pool": "reserved"}] * 2
    assert not before & {pod["metadata"]["uid"] for pod in job.pods()}
    assert job.stored()["status"].get("contract", version) == version
    job.succeed()
    eventually(lambda: job.workload_is("Finished"), 60)


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_job_beyond_the_quota_stays_suspended(kube: cluster.Cluster, api: Api, namespace: str, kind: str, version: str) -> None:
    job = QueuedJob(api, namespace, "job", kind, version)
    job.submit(cpus=9)
    eventually(lambda: job.is_true("Suspended"), 60)
    reason = eventually(lambda: job.workload()["status"]["conditions"][0]["message"], 60)
    consistently(lambda: job.suspended and not job.pods(), 3)
    assert "insufficient quota for cpu" in reason
    shown = installed_operators.traincrew(kube, "why", f"{kind.lower()}/job", "--namespace", namespace)
    assert f"the job is suspended and waits in queue main of Kueue: {reason}" in shown.stdout, shown
    assert "traincrew resume" not in shown.stdout, "Kueue would suspend it again"


def test_why_says_that_kueue_has_stopped_a_workload(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    job = QueuedJob(api, namespace, "job", "PyTorchJob", "v1")
    job.submit()
    job.run()
    name = job.workload()["metadata"]["name"]
    path = f"{WORKLOADS.format(namespace)}/{name}"
    api.call("PATCH", path, {"spec": {"active": False}}, "application/merge-patch+json")
    eventually(lambda: job.suspended, 60)
    job.end_of_pods()
    shown = installed_operators.traincrew(kube, "why", "job", "--namespace", namespace).stdout
    assert f"its Workload {name} is deactivated" in shown
    (command,) = [line.split("`")[1] for line in shown.splitlines() if "patch workload" in line]
    result = kube.kubectl(*shlex.split(command)[1:])
    assert result.returncode == 0, result.stderr
    job.run()


def test_a_kind_that_kueue_does_not_know_runs_without_admission(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    """Kueue 0.10 has no integration for JAXJob: the label alone does nothing."""
    body = jobs_with_leader.job("JAXJob", 2, name="job")
    body["metadata"]["labels"] = {kueue.QUEUE_NAME: "main"}
    api.create(namespace, body)
    eventually(lambda: {"job-worker-0", "job-worker-1"} <= api.names("pods", namespace), 60)
    body["metadata"]["name"] = "suspended"
    body["spec"]["runPolicy"] = {"suspend": True}
    api.create(namespace, body)
    shown = installed_operators.traincrew(kube, "why", "suspended", "--namespace", namespace).stdout
    assert "which has no Workload for it" in shown
    assert "its integration kubeflow.org/jaxjob is enabled" in shown
