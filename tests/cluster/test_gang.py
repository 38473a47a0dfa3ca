"""Gang scheduling with a PodGroup, by Volcano or by scheduler-plugins. The tests act as their schedulers."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import isolated_namespace, manifests, mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import SubmittedJob
from tools.kube import cluster

Spare = tuple[cluster.Cluster, Api, pathlib.Path]

CRDS = pathlib.Path(__file__).parent / "crds"
VOLCANO = "scheduling.volcano.sh/v1beta1"
PLUGINS = "scheduling.x-k8s.io/v1alpha1"
GROUP_NAME, TASK = "scheduling.k8s.io/group-name", "volcano.sh/task-spec"


def _installed(second_kube: Spare, file: str, version: str) -> None:
    kube, api, _ = second_kube
    result = kube.kubectl("apply", "-f", str(CRDS / file))
    assert result.returncode == 0, result.stderr
    eventually(lambda: api.call("GET", f"/apis/{version}/podgroups")["items"] is not None)


@pytest.fixture(scope="module")
def volcano(second_kube: Spare) -> Iterator[IsolatedNamespace]:
    """A namespace that an operator with --gang-scheduler-name=volcano serves. Jobs in it have names of their own."""
    _installed(second_kube, "volcano.yaml", VOLCANO)
    placed = isolated_namespace.created(second_kube[0], second_kube[1], "gang-volcano", second_kube[2])
    with placed as there, there.operator("--gang-scheduler-name", "volcano"):
        yield there


@pytest.fixture(scope="module")
def plugins(second_kube: Spare) -> Iterator[IsolatedNamespace]:
    """The same with --gang-scheduler-name=team-scheduler, which is one of scheduler-plugins."""
    _installed(second_kube, "scheduler-plugins.yaml", PLUGINS)
    placed = isolated_namespace.created(second_kube[0], second_kube[1], "gang-plugins", second_kube[2])
    with placed as there, there.operator("--gang-scheduler-name", "team-scheduler"):
        yield there


def group(job: SubmittedJob, version: str = VOLCANO) -> Object:
    """The job's PodGroup, waited for."""
    found: Object = eventually(lambda: job.api.find("podgroups", job.namespace, job.name, version), because="no PodGroup")
    return found


def gone(job: SubmittedJob, version: str = VOLCANO) -> bool:
    return job.api.find("podgroups", job.namespace, job.name, version) is None


def admit(job: SubmittedJob, phase: str = "Inqueue") -> None:
    group(job)
    job.api.patch("podgroups", job.namespace, job.name, {"status": {"phase": phase}}, "status", VOLCANO)


def asking(count: int, resources: Object) -> Object:
    return manifests.replicas("PyTorchJob", count, resources=resources)


def named(name: str, body: Object) -> Object:
    return {**body, "metadata": {**body["metadata"], "name": name}}


@pytest.mark.checklist(183)
def test_the_group_is_as_large_as_the_job_and_asks_for_what_its_pods_request(volcano: IsolatedNamespace) -> None:
    master = asking(1, {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}})
    worker = asking(2, {"limits": {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": 1}})
    body = manifests.job("PyTorchJob", "whole", Master=master, Worker=worker)
    mine = {"team": "vision"}
    body["metadata"]["annotations"] = {**mine, "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    job = volcano.submit(body)
    found = group(job)
    assert found["spec"] == {
        "minMember": 3,
        "queue": "default",
        # Requests where there are some, else limits.
        "minResources": {"cpu": "4", "memory": "5Gi", "nvidia.com/gpu": "2"},
    }
    assert mpi.owned_by(found, job)
    assert found["metadata"]["annotations"] == mine  # kubectl's own note about the job would mislead it about the group


@pytest.mark.checklist(183)
def test_the_scheduling_policy_overrides_what_would_be_computed(volcano: IsolatedNamespace) -> None:
    policy = {"minAvailable": 2, "queue": "night", "priorityClass": "high", "minResources": {"cpu": "7"}}
    run = {"schedulingPolicy": policy}
    job = volcano.submit(manifests.job("PyTorchJob", "chosen", run=run, Master=1, Worker=3))
    wanted = {"minMember": 2, "queue": "night", "priorityClassName": "high", "minResources": {"cpu": "7"}}
    assert group(job)["spec"] == wanted


@pytest.mark.checklist(183)
def test_a_part_of_the_job_asks_for_the_first_pods_only(volcano: IsolatedNamespace) -> None:
    run = {"schedulingPolicy": {"minAvailable": 2}}
    master, worker = asking(1, {"requests": {"cpu": "3"}}), asking(4, {"requests": {"cpu": "500m"}})
    job = volcano.submit(manifests.job("PyTorchJob", "part", run=run, Master=master, Worker=worker))
    assert (group(job)["spec"]["minMember"], group(job)["spec"]["minResources"]) == (2, {"cpu": "3500m"})


@pytest.mark.checklist(183)
def test_the_group_follows_the_number_of_replicas_and_is_else_left_alone(volcano: IsolatedNamespace) -> None:
    job = volcano.submit(manifests.job("PyTorchJob", "elastic", Worker=2))
    admit(job, "Running")
    volcano.kubelet.run("elastic-worker-0", "elastic-worker-1")
    job.becomes("Running")
    before = group(job)["metadata"]["resourceVersion"]
    volcano.api.patch("pytorchjobs", volcano.namespace, "elastic", {"metadata": {"labels": {"some": "change"}}})
    consistently(lambda: group(job)["metadata"]["resourceVersion"] == before, 0.5)
    job.patch({"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}})
    eventually(lambda: group(job)["spec"]["minMember"] == 3)


@pytest.mark.checklist(184)
@pytest.mark.parametrize(
    ("name", "body", "tasks"),
    [
        ("torch", manifests.job("PyTorchJob", Master=1, Worker=1), {"torch-master-0": "master", "torch-worker-0": "worker"}),
        ("horovod", mpi.job(1), {"horovod-launcher": "launcher", "horovod-worker-0": "worker"}),
    ],
)
def test_pods_are_marked_for_volcano(volcano: IsolatedNamespace, name: str, body: Object, tasks: dict[str, str]) -> None:
    job = volcano.submit(named(name, body))
    admit(job)
    eventually(lambda: job.pods().keys() == tasks.keys())
    for pod, task in tasks.items():
        found = job.pods()[pod]
        marks = {key: found["metadata"]["annotations"].get(key) for key in (GROUP_NAME, TASK)}
        assert marks == {GROUP_NAME: name, TASK: task}
        assert found["spec"]["schedulerName"] == "volcano"


@pytest.mark.checklist(185)
def test_no_pod_is_created_before_volcano_has_admitted_the_gang(volcano: IsolatedNamespace) -> None:
    job = volcano.submit(manifests.job("PyTorchJob", "held", Master=1, Worker=1))
    group(job)
    consistently(lambda: job.pods() == {})
    eventually(lambda: job.why["reason"] == "WaitingForGang")
    admit(job, "Pending")
    consistently(lambda: job.pods() == {})
    admit(job, "Inqueue")
    eventually(lambda: job.pods().keys() == {"held-master-0", "held-worker-0"})
    eventually(lambda: job.why.get("reason") != "WaitingForGang")


def test_waiting_for_the_gang_writes_nothing_again_and_again(volcano: IsolatedNamespace) -> None:
    job = volcano.submit(manifests.job("PyTorchJob", "patient", Worker=1))
    eventually(lambda: job.why["reason"] == "WaitingForGang")
    before = (job.read()["metadata"]["resourceVersion"], group(job)["metadata"]["resourceVersion"])
    consistently(lambda: (job.read()["metadata"]["resourceVersion"], group(job)["metadata"]["resourceVersion"]) == before)


@pytest.mark.checklist(186)
def test_scheduler_plugins_have_a_group_of_their_own_kind_and_no_gate(plugins: IsolatedNamespace) -> None:
    run = {"schedulingPolicy": {"scheduleTimeoutSeconds": 90}}
    worker = asking(2, {"requests": {"cpu": "250m", "memory": "512Mi"}})
    job = plugins.submit(manifests.job("PyTorchJob", "j", run=run, Worker=worker))
    found = group(job, PLUGINS)
    wanted = {"minMember": 2, "minResources": {"cpu": "500m", "memory": "1Gi"}, "scheduleTimeoutSeconds": 90}
    assert found["spec"] == wanted
    assert mpi.owned_by(found, job)
    eventually(lambda: job.pods().keys() == {"j-worker-0", "j-worker-1"})
    for pod in job.pods().values():
        assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "j"
        assert pod["spec"]["schedulerName"] == "team-scheduler"
        assert GROUP_NAME not in pod["metadata"].get("annotations", {})


@pytest.mark.checklist(186)
def test_a_timeout_that_nobody_gave_stays_unset(plugins: IsolatedNamespace) -> None:
    job = plugins.submit(manifests.job("PyTorchJob", "untimed", run={"schedulingPolicy": {"minAvailable": 1}}, Worker=2))
    assert group(job, PLUGINS)["spec"] == {"minMember": 1, "minResources": {}}


@pytest.mark.checklist(187)
def test_a_templates_own_scheduler_is_kept_and_reported(volcano: IsolatedNamespace, plugins: IsolatedNamespace) -> None:
    for isolated in (volcano, plugins):
        body = manifests.job("PyTorchJob", "own", Worker=1)
        body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = "mine"
        job = isolated.submit(body)
        if isolated is volcano:
            admit(job)
        assert isolated.kubelet.pod("own-worker-0")["spec"]["schedulerName"] == "mine"
        assert job.event("SetPodTemplateSchedulerName")["type"] == "Warning"


@pytest.mark.checklist(188)
@pytest.mark.parametrize("version", [VOLCANO, PLUGINS])
def test_the_group_goes_when_the_job_ends(volcano: IsolatedNamespace, plugins: IsolatedNamespace, version: str) -> None:
    isolated = volcano if version == VOLCANO else plugins
    job = isolated.submit(manifests.job("PyTorchJob", "brief", Worker=1))
    if version == VOLCANO:
        admit(job)
    group(job, version)
    isolated.kubelet.run("brief-worker-0")
    isolated.kubelet.succeed("brief-worker-0")
    job.becomes("Succeeded")
    eventually(lambda: gone(job, version))
    consistently(lambda: gone(job, version), 0.5)
    job.event("SuccessfulDeletePodGroup", "brief")


@pytest.mark.checklist(188)
def test_the_group_goes_with_a_suspension_and_comes_back_after_it(volcano: IsolatedNamespace) -> None:
    job = volcano.submit(manifests.job("PyTorchJob", "paused", Worker=1))
    admit(job)
    volcano.kubelet.pod("paused-worker-0")
    job.suspend()
    job.becomes("Suspended")
    eventually(lambda: gone(job) and job.pods() == {})
    consistently(lambda: gone(job), 0.5)
    job.suspend(False)
    consistently(lambda: group(job) and job.pods() == {}, 0.5)  # a new group, not admitted yet
    admit(job)
    volcano.kubelet.pod("paused-worker-0")


@pytest.mark.checklist(189)
def test_a_v2beta1_gang_counts_its_launcher_and_takes_its_queue_from_the_annotation(volcano: IsolatedNamespace) -> None:
    body = named("ssh", mpi.job(2, version="v2beta1"))
    body["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "night"}
    job = volcano.submit(body)
    assert (group(job)["spec"]["minMember"], group(job)["spec"]["queue"]) == (3, "night")


@pytest.mark.checklist(189)
def test_a_v2beta1_policys_queue_wins_over_the_annotation(volcano: IsolatedNamespace) -> None:
    body = named("ssh-day", mpi.job(2, {"schedulingPolicy": {"queue": "day"}}, "v2beta1"))
    body["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "night"}
    assert group(volcano.submit(body))["spec"]["queue"] == "day"


@pytest.mark.checklist(189)
@pytest.mark.parametrize("version", [VOLCANO, PLUGINS])
def test_a_v2beta1_launcher_belongs_to_the_gang_too(volcano: IsolatedNamespace, plugins: IsolatedNamespace, version: str) -> None:
    """Else the gang would wait for ever for its last member."""
    isolated = volcano if version == VOLCANO else plugins
    body = named("ssh-all", mpi.job(1, version="v2beta1"))
    mpi.template(body, "Launcher")["schedulerName"] = mpi.template(body, "Worker")["schedulerName"] = "default-scheduler"
    job = isolated.submit(body)
    for pod in (isolated.kubelet.pod("ssh-all-worker-0"), mpi.launcher_template(job)):
        assert pod["spec"]["schedulerName"] == ("volcano" if version == VOLCANO else "team-scheduler")
        if version == VOLCANO:
            assert pod["metadata"]["annotations"][GROUP_NAME] == "ssh-all"
            assert TASK not in pod["metadata"]["annotations"]
        else:
            assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "ssh-all"
