"""The waiting reason of a job that does not run: object, problem and time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.scenarios import posted, started
from tests.planner.simulation import Simulation

from traincrew.model import resources

Act = Callable[[Simulation, ClusterEvents], None]


def _name_taken(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.vanish("j-worker-1")
    simulation.add(resources.PODS, "j-worker-1", {"metadata": {}, "spec": {"containers": []}})


def _quota(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.vanish("j-worker-1")
    simulation.quota = 2


def _crash_loop(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.wait("j-worker-1", "CrashLoopBackOff", "back-off 40s restarting failed container")
    status = simulation.pod("j-worker-1")["status"]["containerStatuses"][0]
    status["lastState"] = {"terminated": {"exitCode": 2}}


def _slow(*events: tuple[str, str]) -> Act:
    def act(simulation: Simulation, cluster: ClusterEvents) -> None:
        cluster.create_slowly("j-worker-1", *events)
        cluster.pass_time(41)

    return act


def _waits_inside(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.create_slowly("j-worker-1")
    simulation.pod("j-worker-1")["status"]["initContainerStatuses"] = [{"name": "init-pytorch", "state": {"running": {}}}]
    cluster.pass_time(41)


def _stuck(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.run("j-worker-1")
    cluster.delete("j-worker-1")
    cluster.pass_time(41)


def _waiting(reason: str, message: str = "said the kubelet") -> Act:
    return lambda simulation, cluster: cluster.wait("j-worker-1", reason, message)


def _unknown(simulation: Simulation, cluster: ClusterEvents) -> None:
    cluster.schedule("j-worker-1")
    simulation.pod("j-worker-1")["status"]["phase"] = "Unknown"


def _node_lost(simulation: Simulation, cluster: ClusterEvents) -> None:
    """The controller of nodes marks the pods of a node that does not respond."""
    for name in ("j-worker-0", "j-worker-1"):
        cluster.run(name)
    status = simulation.pod("j-worker-1")["status"]
    status["conditions"] = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]


# Events on worker 1 of a job whose other pods run, the reason, and a part of the message.
CAUSES: list[tuple[Act, str, str]] = [
    (
        lambda simulation, cluster: cluster.find_no_node("j-worker-1"),
        "Unschedulable",
        "pod j-worker-1 cannot be scheduled: 0/3 nodes",
    ),
    (_waiting("ErrImagePull"), "ErrImagePull", "container pytorch of pod j-worker-1: said the kubelet"),
    (_waiting("ImagePullBackOff"), "ImagePullBackOff", "container pytorch of pod j-worker-1"),
    (_waiting("InvalidImageName", ""), "InvalidImageName", "container pytorch of pod j-worker-1: InvalidImageName"),
    (_waiting("CreateContainerConfigError", 'secret "s" not found'), "CreateContainerConfigError", 'secret "s" not found'),
    (_crash_loop, "CrashLoopBackOff", "(last exit code 2)"),
    (lambda simulation, cluster: cluster.fail_init("j-worker-1", 3, "no data"), "InitContainerFailed", "exited with 3: no data"),
    (_slow(("FailedMount", "pvc is not bound")), "FailedMount", "pod j-worker-1 does not start: pvc is not bound"),
    (_slow(("FailedCreatePodSandBox", "no IP")), "FailedCreatePodSandBox", "no IP"),
    (_slow(), "NotStarted", "pod j-worker-1 is still being created on node node-1"),
    (_waits_inside, "NotStarted", "init container init-pytorch of pod j-worker-1 is still running"),
    (_name_taken, "NameTaken", "Pod j-worker-1 exists and does not belong to this job"),
    (_quota, "QuotaExceeded", "Pod j-worker-1 cannot be created: exceeded quota"),
    (_stuck, "StuckTerminating", "--grace-period=0 --force"),
    (_unknown, "NodeUnreachable", "the state of pod j-worker-1 is unknown"),
    (_node_lost, "NodeUnreachable", "does not respond, and the state of pod j-worker-1 is unknown"),
    (lambda simulation, cluster: cluster.pass_time(31), "NotScheduled", "is one running (kube-scheduler, or"),
]


@pytest.mark.parametrize(("act", "reason", "part"), CAUSES)
def test_the_cause_is_reported_in_the_status_and_by_one_event(act: Act, reason: str, part: str) -> None:
    simulation, cluster = posted(manifests.job("PyTorchJob", Master=1, Worker=2))
    cluster.run("j-master-0")
    cluster.run("j-worker-0")
    act(simulation, cluster)
    simulation.settle()
    why = simulation.status["why"]
    assert why["reason"] == reason
    assert part in why["message"]
    assert why["since"] == simulation.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert [event for event, _ in simulation.events].count(reason) == 1


@pytest.mark.parametrize(("ended", "reported"), [(False, True), (True, False)])
def test_a_sidecar_that_is_stopped_after_the_training_is_no_failure(ended: bool, reported: bool) -> None:
    """The kubelet stops native sidecars when the containers have ended, and the pod runs until all of them have ended, too."""
    simulation, _ = started(manifests.job("PyTorchJob", Worker=1))
    status = simulation.pod("j-worker-0")["status"]
    sidecars = [{"name": "proxy", "state": {"terminated": {"exitCode": 143}}}, {"name": "logs", "state": {"running": {}}}]
    status["initContainerStatuses"] = sidecars
    if ended:
        status["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 0}}
    simulation.settle()
    assert ("why" in simulation.status) is reported
    assert ("InitContainerFailed" in dict(simulation.events)) is reported, simulation.events


def test_a_rejected_write_says_what_was_rejected() -> None:
    simulation, _ = posted(manifests.job("MPIJob", Launcher=1, Worker=1))
    del simulation.objects["configmaps", "j-config"]
    simulation.add(resources.CONFIG_MAPS, "j-config", {"metadata": {}})
    simulation.settle()
    assert simulation.status["why"]["reason"] == "NameTaken"
    assert "ConfigMap j-config" in simulation.status["why"]["message"]


def test_a_gang_that_is_not_admitted_is_waited_for() -> None:
    simulation, cluster = posted(manifests.job("PyTorchJob", Worker=2), gang_scheduler="volcano")
    assert simulation.status["why"]["reason"] == "WaitingForGang"
    assert simulation.of("pods") == []
    cluster.admit_gang()
    simulation.settle()
    assert "why" not in simulation.status
    assert simulation.names("pods") == ["j-worker-0", "j-worker-1"]


def test_a_delay_before_the_next_attempt_is_reported_with_its_end() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=1))
    for _ in range(2):
        cluster.fail("j-worker-0")
        simulation.settle()
        cluster.pass_time(2)
        cluster.run_all()
    assert simulation.status["why"]["reason"] == "BackOff"
    assert simulation.status["restarts"]["retryAt"][11:19] in simulation.status["why"]["message"]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        pytest.param(manifests.job("TFJob", PS=1), "NothingToRun", id="no role that decides"),
        pytest.param(manifests.job("JAXJob", Worker=0), "NothingToRun", id="no replica of it"),
        pytest.param(manifests.ssh_job(Launcher=1, Worker=1), "NoLauncherPod", id="a batch Job that nobody acts on"),
    ],
)
def test_a_job_that_cannot_come_to_run_says_so(job: manifests.Manifest, reason: str) -> None:
    simulation, cluster = posted(job)
    cluster.run_all()
    cluster.pass_time(40)
    simulation.settle()
    assert simulation.status["why"]["reason"] == reason


def test_a_launcher_that_waits_for_workers_says_how_many_are_ready() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=2, spec={"launcherCreationPolicy": "WaitForWorkersReady"})
    simulation, cluster = posted(job)
    cluster.run("j-worker-0")
    cluster.run("j-worker-1", ready=False)
    cluster.pass_time(31)
    simulation.settle()
    assert simulation.of("jobs") == []
    assert simulation.status["why"]["reason"] == "WaitingForWorkers"
    assert "1 of 2 are" in simulation.status["why"]["message"]


def test_an_edit_that_cannot_be_used_touches_no_pod_and_is_reported_until_it_is_fixed() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2))
    before = {pod["metadata"]["uid"] for pod in simulation.of("pods")}
    cluster.scale("Worker", 0)
    simulation.settle()
    assert simulation.status["why"]["reason"] == "InvalidSpec"
    assert "must be at least 1, got 0" in simulation.status["why"]["message"]
    cluster.fail("j-worker-1")
    simulation.settle()
    assert {pod["metadata"]["uid"] for pod in simulation.of("pods")} == before
    cluster.succeed("j-master-0")
    simulation.settle()
    assert simulation.is_true("Succeeded")


def test_the_explanation_goes_when_the_obstacle_does() -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=1))
    cluster.find_no_node("j-worker-0")
    simulation.settle()
    assert "why" in simulation.status
    cluster.run("j-worker-0")
    simulation.settle()
    assert "why" not in simulation.status


def test_the_same_trouble_of_many_pods_is_one_sentence_and_one_event() -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=4))
    for index in range(4):
        cluster.find_no_node(f"j-worker-{index}")
        simulation.settle()
    assert simulation.status["why"]["message"].endswith("(the same for 4 of 4 pods)")
    assert [reason for reason, _ in simulation.events].count("Unschedulable") == 1


def test_the_events_of_at_most_three_slow_pods_are_asked_for_and_once() -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=9))
    for index in range(9):
        cluster.schedule(f"j-worker-{index}")
    plan = simulation.settle()
    assert plan.requeue_at is not None
    cluster.pass_time((plan.requeue_at - simulation.now).total_seconds())
    simulation.settle()
    assert len(simulation.memory.pod_events) == 3
    assert simulation.plan().empty


def test_trouble_of_a_restarted_operator_is_not_reported_twice() -> None:
    simulation, cluster = posted(manifests.job("JAXJob", Worker=2))
    cluster.vanish("j-worker-1")
    simulation.quota = 1
    simulation.settle()
    assert simulation.status["why"]["reason"] == "QuotaExceeded"
    count = len(simulation.events)
    before = simulation.status
    simulation.restart_operator()
    simulation.settle()
    assert simulation.status == before
    assert len(simulation.events) == count
