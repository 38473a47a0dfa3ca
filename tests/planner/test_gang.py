"""PodGroups of both gang schedulers."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.manifests import Manifest
from tests.planner.scenarios import posted


def asking(job: Manifest, **requests: object) -> Manifest:
    """The job with these requests in each container."""
    for spec in job["spec"][manifests.BY_NAME[job["kind"]].replicas_field].values():
        spec["template"]["spec"]["containers"][0]["resources"] = {"requests": requests}
    return job


def group(job: Manifest, scheduler: str = "volcano") -> Manifest:
    simulation, _ = posted(job, gang_scheduler=scheduler)
    spec: Manifest = simulation.get("podgroups", "j")["spec"]
    return spec


def test_a_gang_is_the_whole_job_unless_the_policy_names_a_number() -> None:
    job = asking(manifests.job("PyTorchJob", Master=1, Worker=3), cpu="500m")
    assert group(job) == {"minMember": 4, "minResources": {"cpu": "2"}, "queue": "default"}
    job["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 2, "queue": "q", "priorityClass": "high"}
    assert group(job) == {"minMember": 2, "minResources": {"cpu": "1"}, "queue": "q", "priorityClassName": "high"}


def test_resources_that_the_policy_names_are_taken_as_they_are() -> None:
    job = asking(manifests.job("JAXJob", Worker=2), cpu="1")
    job["spec"]["runPolicy"]["schedulingPolicy"] = {"minResources": {"cpu": 7}, "scheduleTimeoutSeconds": 30}
    assert group(job, "plugins") == {"minMember": 2, "minResources": {"cpu": 7}, "scheduleTimeoutSeconds": 30}


def test_an_amount_that_is_no_quantity_is_left_to_the_api_server_to_complain_of() -> None:
    assert group(asking(manifests.job("JAXJob", Worker=2), cpu="plenty", memory="1Gi"))["minResources"] == {"memory": "2Gi"}


def test_the_group_follows_the_number_of_replicas_but_keeps_its_queue() -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=2), gang_scheduler="volcano")
    simulation.get("podgroups", "j")["spec"]["queue"] = "elsewhere"
    cluster.admit_gang()
    cluster.scale("Worker", 3)
    simulation.settle()
    assert simulation.get("podgroups", "j")["spec"] == {"minMember": 3, "minResources": {}, "queue": "elsewhere"}


@pytest.mark.parametrize("scheduler", ["volcano", "Volcano", "my-plugins"])
def test_members_are_marked_and_a_scheduler_that_the_template_names_is_kept(scheduler: str) -> None:
    job = manifests.job("TFJob", Chief=1, Worker=1)
    job["spec"]["tfReplicaSpecs"]["Chief"]["template"]["spec"]["schedulerName"] = "mine"
    simulation, cluster = posted(job, gang_scheduler=scheduler)
    cluster.admit_gang()
    simulation.settle()
    chief, worker = simulation.pod("j-chief-0"), simulation.pod("j-worker-0")
    assert chief["spec"]["schedulerName"] == "mine"
    if scheduler.lower() == "volcano":
        assert worker["spec"]["schedulerName"] == "volcano"
        marks = {"scheduling.k8s.io/group-name": "j", "volcano.sh/task-spec": "worker"}
        assert worker["metadata"]["annotations"] == marks
    else:
        assert worker["spec"]["schedulerName"] == scheduler
        assert worker["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "j"
    assert ("SetPodTemplateSchedulerName", True) in [(reason, "Chief" in message) for reason, message in simulation.events]


@pytest.mark.parametrize("end", ["success", "suspension"])
def test_the_group_goes_when_the_job_ends_or_is_suspended(end: str) -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=1), gang_scheduler="volcano")
    cluster.admit_gang()
    simulation.settle()
    cluster.run_all()
    if end == "success":
        cluster.succeed("j-worker-0")
    else:
        cluster.edit(suspend=True)
    simulation.settle()
    assert simulation.of("podgroups") == []


def test_a_v2beta1_gang_includes_the_launcher_and_takes_its_priority_and_queue() -> None:
    job = asking(manifests.ssh_job(Launcher=1, Worker=2), cpu=1)
    job["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "research"}
    specs = job["spec"]["mpiReplicaSpecs"]
    specs["Worker"]["template"]["spec"]["priorityClassName"] = "low"
    specs["Launcher"]["template"]["spec"]["priorityClassName"] = "high"
    simulation, _ = posted(job, gang_scheduler="volcano")
    assert simulation.get("podgroups", "j")["spec"] == {
        "minMember": 3,
        "minResources": {"cpu": "3"},
        "queue": "research",
        "priorityClassName": "high",
    }
    launcher = simulation.get("jobs", "j-launcher")["spec"]["template"]
    assert launcher["spec"]["schedulerName"] == "volcano"
    assert launcher["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "j"}
    assert simulation.names("pods") == ["j-worker-0", "j-worker-1"]
