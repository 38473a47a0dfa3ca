"""MPIJob v1 while its number of workers changes: Elastic Horovod."""

from __future__ import annotations

import pytest
from tests.cluster import mpi
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit, SubmittedJob
from tools.kube import cluster


def uids(job: SubmittedJob) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}


def hosts(job: SubmittedJob) -> list[str]:
    return [line.partition(" ")[0] for line in mpi.files(job)["hostfile"].splitlines()]


def reachable(job: SubmittedJob) -> list[str]:
    """Pods that the launcher has the right to exec into."""
    rules = job.api.get("roles", job.namespace, "j-launcher")["rules"]
    return [name for rule in rules if rule["resources"] == ["pods/exec"] for name in rule["resourceNames"]]


def started(submit: Submit, kubelet: FakeKubelet, workers: int) -> SubmittedJob:
    """A job whose launcher and workers all run."""
    job = submit(mpi.job(workers))
    kubelet.run("j-launcher", *(f"j-worker-{index}" for index in range(workers)))
    job.becomes("Running")
    eventually(lambda: len(mpi.discovered(job)) == workers)
    return job


@pytest.mark.checklist(128)
def test_scaling_up_adds_a_worker_and_leaves_the_others_and_the_launcher_alone(submit: Submit, kubelet: FakeKubelet) -> None:
    job = started(submit, kubelet, 2)
    before = uids(job)

    mpi.scale(job, 3)

    names = ["j-worker-0", "j-worker-1", "j-worker-2"]
    eventually(lambda: job.pods().keys() == {"j-launcher", *names})
    assert mpi.files(job)["hostfile"] == "".join(f"{name} slots=1\n" for name in names)
    assert reachable(job) == names
    assert before.items() <= uids(job).items()
    assert mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1"]  # the third does not run yet
    kubelet.run("j-worker-2")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1", "j-worker-2:1"])
    assert job.states() == {"Created": "True", "Running": "True"}


@pytest.mark.checklist(129)
def test_scaling_down_removes_the_last_worker_only(submit: Submit, kubelet: FakeKubelet) -> None:
    job = started(submit, kubelet, 2)
    before = uids(job)

    mpi.scale(job, 1)

    eventually(lambda: job.pods()["j-worker-1"]["metadata"].get("deletionTimestamp"))
    kubelet.gone("j-worker-1")
    consistently(lambda: uids(job) == {name: before[name] for name in ("j-launcher", "j-worker-0")}, 0.5)
    assert mpi.files(job)["hostfile"] == "j-worker-0 slots=1\n"
    assert mpi.discovered(job) == ["j-worker-0:1"]
    eventually(lambda: reachable(job) == ["j-worker-0"])
    assert job.states() == {"Created": "True", "Running": "True"}


@pytest.mark.checklist(129)
def test_a_worker_leaves_the_files_and_the_launcher_is_touched_before_the_worker_goes(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, namespace: str
) -> None:
    """Otherwise a launcher would start processes on a host that is just being taken away."""
    job = started(submit, kubelet, 2)
    since = kube.audit_size()

    mpi.scale(job, 1)

    wanted = [("patch", "configmaps", "j-config"), ("patch", "pods", "j-launcher"), ("delete", "pods", "j-worker-1")]
    eventually(lambda: mpi.writes(kube, since, namespace) == wanted)


def test_scaling_to_none_and_back_keeps_the_launcher(submit: Submit, kubelet: FakeKubelet) -> None:
    job = started(submit, kubelet, 1)
    before = uids(job)["j-launcher"]
    mpi.scale(job, 0)
    eventually(lambda: job.pods()["j-worker-0"]["metadata"].get("deletionTimestamp"))
    consistently(lambda: reachable(job) == ["j-worker-0"], 0.5)  # the launcher may still talk to a worker that leaves
    kubelet.gone("j-worker-0")
    eventually(lambda: reachable(job) == [])
    mpi.scale(job, 1)
    kubelet.run("j-worker-0")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1"])
    assert (hosts(job), reachable(job)) == (["j-worker-0"], ["j-worker-0"])
    assert uids(job)["j-launcher"] == before


def test_an_autoscaler_finds_the_workers_by_the_scale_subresource(submit: Submit, kubelet: FakeKubelet, api: Api) -> None:
    job = started(submit, kubelet, 2)
    found = eventually(lambda: (s := api.get("mpijobs", job.namespace, "j", "scale"))["status"].get("replicas") == 2 and s)
    assert found["spec"]["replicas"] == 2
    chosen = api.all("pods", job.namespace, found["status"]["selector"])
    assert {pod["metadata"]["name"] for pod in chosen} == {"j-worker-0", "j-worker-1"}
    api.patch("mpijobs", job.namespace, "j", {"spec": {"replicas": 3}}, "scale")
    eventually(lambda: hosts(job) == ["j-worker-0", "j-worker-1", "j-worker-2"])


def test_a_worker_that_is_disrupted_comes_back_and_the_launcher_goes_on(submit: Submit, kubelet: FakeKubelet, api: Api) -> None:
    job = started(submit, kubelet, 2)
    before = uids(job)
    api.delete("pods", job.namespace, "j-worker-0", grace=0)
    eventually(lambda: uids(job).get("j-worker-0", before["j-worker-0"]) != before["j-worker-0"])
    eventually(lambda: mpi.discovered(job) == ["j-worker-1:1"])
    kubelet.run("j-worker-0")
    eventually(lambda: mpi.discovered(job) == ["j-worker-0:1", "j-worker-1:1"])
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})
    assert uids(job)["j-launcher"] == before["j-launcher"]
