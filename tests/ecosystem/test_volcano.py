"""Volcano's own scheduler and controllers: gangs are admitted and scheduled whole, in the queue that the job names."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

import pytest
from tests.cluster import installed_operators, operators
from tests.cluster.api import Api, consistently, eventually
from tests.ecosystem import cluster_with_controllers, gangs, volcano
from tools.kube import cluster

VERSION = "scheduling.volcano.sh/v1beta1"
CPUS = 4


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster_with_controllers.started() as started, contextlib.ExitStack() as stack:
        gangs.create_node(Api(started.kubeconfig), "machine", CPUS)
        stack.enter_context(volcano.running(started, tmp_path_factory.mktemp("volcano")))
        account = cluster_with_controllers.account(started)
        stack.enter_context(operators.running(account, "--gang-scheduler-name=volcano"))
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


@pytest.fixture
def namespace(kube: cluster.Cluster, api: Api) -> Iterator[str]:
    name = f"team-{uuid.uuid4().hex[:8]}"
    assert kube.kubectl("create", "namespace", name).returncode == 0
    yield name
    for plural in ("pytorchjobs", "mpijobs"):
        for job in api.all(plural, name):
            api.delete(plural, name, job["metadata"]["name"])
    for pod in api.all("pods", name):
        api.delete("pods", name, pod["metadata"]["name"], grace=0)
    eventually(lambda: not api.all("pods", name), 60)


def queue(kube: cluster.Cluster, name: str, cpus: int) -> None:
    spec = {"weight": 1, "capability": {"cpu": cpus}}
    installed_operators.apply(kube, {"apiVersion": VERSION, "kind": "Queue", "metadata": {"name": name}, "spec": spec})


def test_jobs_run_one_after_the_other_and_each_of_them_whole(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    first, second = (gangs.GangJob(api, namespace, name, VERSION) for name in ("first", "second"))
    first.submit(workers=3, cpus=1)
    first.run(pods=3)
    eventually(lambda: first.phase() == "Running", 60)

    second.submit(workers=2, cpus=2)
    eventually(lambda: second.phase() == "Pending", 60)
    consistently(lambda: not second.pods(), 3)
    shown = installed_operators.traincrew(kube, "why", "second", "--namespace", namespace).stdout
    assert "PodGroup second is not admitted yet" in shown
    first.succeed()
    second.run(pods=2)
    eventually(lambda: second.phase() == "Running", 60)


def test_a_gang_starts_with_min_available_replicas(api: Api, namespace: str) -> None:
    job = gangs.GangJob(api, namespace, "job", VERSION)
    job.submit(workers=CPUS + 2, cpus=1, policy={"minAvailable": CPUS})
    job.run(pods=CPUS)
    assert len(job.pods()) == CPUS + 2
    assert job.group()["spec"]["minMember"] == CPUS
    consistently(lambda: job.bound() == CPUS, 3)


def test_a_gang_that_never_fits_has_no_pods(api: Api, namespace: str) -> None:
    job = gangs.GangJob(api, namespace, "job", VERSION)
    job.submit(workers=CPUS + 2, cpus=1)
    eventually(lambda: job.phase() == "Pending", 60)
    consistently(lambda: not job.pods(), 3)


@pytest.mark.parametrize("by", ["annotation", "policy"])
def test_the_queue_of_the_job_limits_it(kube: cluster.Cluster, api: Api, namespace: str, by: str) -> None:
    queue(kube, "small", 1)
    policy = {"queue": "small"} if by == "policy" else None
    annotations = {"scheduling.volcano.sh/queue-name": "small"} if by == "annotation" else None
    large, small = (gangs.GangJob(api, namespace, name, VERSION) for name in ("large", "small"))
    large.submit(workers=2, cpus=1, policy=policy, annotations=annotations)
    eventually(lambda: large.phase() == "Pending", 60)
    assert large.group()["spec"]["queue"] == "small"
    consistently(lambda: not large.pods(), 3)
    small.submit(workers=1, cpus=1, policy=policy, annotations=annotations)
    small.run(pods=1)


def test_the_launcher_of_a_v2beta1_mpijob_belongs_to_the_gang(api: Api, namespace: str) -> None:
    job = gangs.GangJob(api, namespace, "job", VERSION)
    job.submit_mpi(workers=2, cpus=1)
    job.run(pods=3)
    assert job.group()["spec"]["minMember"] == 3
    eventually(lambda: job.phase() == "Running", 60)
