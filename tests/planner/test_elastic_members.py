"""Workers that the operator chooses: any set of indexes, pods on idle capacity, an orderly leave, and bad annotations."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.planner import manifests
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, posted, started
from tests.planner.simulation import Simulation

from traincrew.model.elastic_allocation import GAVE_BACK, NOTICED, Allocation, Removal

SCALING = "traincrew.kubeflow.org/scaling"
DISCOVERY = ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
COMMAND = ["horovodrun", "-np", "2", "--min-np", "1", "--max-np", "4", *DISCOVERY, "train"]


def horovod(**annotations: str) -> Manifest:
    job = manifests.job("MPIJob", Launcher=1, Worker=2)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = COMMAND
    return annotated(job, **{"scaling": "idle", **annotations})


def annotated(job: Manifest, **annotations: str) -> Manifest:
    job["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in annotations.items()}
    return job


def give(simulation: Simulation, members: list[int], surplus: list[int] | None = None, **more: Any) -> None:
    """A share with these workers, whose existing pods it has seen."""
    names = {index: f"j-worker-{index}" for index in members}
    present = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in simulation.of("pods")}
    uids = {index: present.get(name, "") for index, name in names.items()}
    simulation.allocation = Allocation(uids, frozenset(surplus or ()), **more)
    simulation.settle()


def workers(simulation: Simulation) -> list[str]:
    live = [pod for pod in simulation.of("pods") if "deletionTimestamp" not in pod["metadata"]]
    return sorted(pod["metadata"]["name"] for pod in live if "worker" in pod["metadata"]["name"])


def test_a_job_begins_with_the_requested_workers_and_records_them() -> None:
    simulation, _ = started(horovod())
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]
    elastic = simulation.status["elastic"]
    assert (elastic["members"], elastic["workers"], elastic["scaling"]) == ("0-1", "2 (1-4)", "idle")


def test_a_worker_on_idle_capacity_is_preempted_by_every_other_pod_and_wakes_no_autoscaler() -> None:
    simulation, _ = started(horovod())
    give(simulation, [0, 1, 3], [3], node_hints={3: "node-b"})
    pod = simulation.pod("j-worker-3")
    assert pod["spec"]["priorityClassName"] == "traincrew-surplus"
    assert pod["metadata"]["labels"]["traincrew.kubeflow.org/surplus"] == "true"
    assert pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/pod-scale-up-delay"] == "600s"
    assert "node-b" in str(pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"])
    assert "priorityClassName" not in simulation.pod("j-worker-0")["spec"]
    elastic = simulation.status["elastic"]
    assert (elastic["members"], elastic["surplus"], elastic["lastResize"]["reason"]) == ("0-1,3", 1, "Grew")
    assert any(reason == "Grew" for reason, _ in simulation.events)


def test_a_pinned_worker_may_run_only_on_its_node_and_where_its_template_allows() -> None:
    job = horovod()
    zones = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in ("a", "b")]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": zones}}}
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = affinity
    simulation, _ = started(job)
    give(simulation, [0, 1, 3], [3], node_hints={3: "node-b"}, pinned=True)
    name = [{"key": "metadata.name", "operator": "In", "values": ["node-b"]}]

    def terms(pod: str) -> object:
        found = simulation.pod(pod)["spec"]["affinity"]["nodeAffinity"]
        return found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]

    assert terms("j-worker-3") == [{**zone, "matchFields": name} for zone in zones], "either zone, and the node"
    assert terms("j-worker-0") == zones


def test_host_file_and_rights_follow_the_members() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 3], [3])
    cluster.finish_deletions()
    simulation.settle()
    hostfile = simulation.get("configmaps", "j-config")["data"]["hostfile"]
    assert [line.split()[0] for line in hostfile.splitlines()] == ["j-worker-0", "j-worker-3"]
    rules = simulation.get("roles", "j-launcher")["rules"]
    assert rules[1]["resourceNames"] == ["j-worker-0", "j-worker-3"]


def test_any_worker_may_leave_at_once_and_its_preStop_hook_waits_for_the_ring() -> None:
    simulation, cluster = started(horovod())
    hook = simulation.pod("j-worker-0")["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]
    assert "HOROVOD_HOSTNAME=j-worker-0" in hook
    assert "-lt 25 " in hook
    removal = Removal(GAVE_BACK, "TFJob n/other", "TFJob n/other waits for 1 nvidia.com/gpu")
    give(simulation, [1], leaving={0: removal})
    assert workers(simulation) == ["j-worker-1"]
    assert "j-worker-0" not in simulation.get("configmaps", "j-config")["data"]["discover_hosts.sh"]
    assert simulation.status["elastic"]["leaving"][0] | {"since": ""} == {
        "index": 0, "reason": "GaveBack", "for": "TFJob n/other", "since": "",
        "by": simulation.pod("j-worker-0")["metadata"]["deletionTimestamp"],
    }  # fmt: skip
    cluster.finish_deletions()
    simulation.settle()
    assert workers(simulation) == ["j-worker-1"]
    assert ("GaveBack", "scaled from 2 to 1 workers: TFJob n/other waits for 1 nvidia.com/gpu") in simulation.events
    assert "restarts" not in simulation.status or not simulation.status["restarts"].get("disruptions")


def with_preempted_worker() -> Simulation:
    simulation, cluster = started(horovod())
    give(simulation, [0, 1, 2], [2])
    give(simulation, [0, 1, 2], [2])
    cluster.preempt("j-worker-2")
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    return simulation


def test_a_preempted_worker_on_idle_capacity_is_neither_a_loss_nor_replaced() -> None:
    simulation = with_preempted_worker()
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]
    assert simulation.status["elastic"]["members"] == "0-1"
    assert not simulation.status.get("restarts", {}).get("disruptions")


@pytest.mark.parametrize(("seconds", "reason"), [(3, "GaveBack"), (60, "Reclaimed")])
def test_for_whom_a_worker_was_preempted_is_recorded_when_it_is_known(seconds: float, reason: str) -> None:
    simulation = with_preempted_worker()
    assert simulation.status["elastic"]["lastResize"]["reason"] == "Reclaimed"
    seen_at = simulation.now + dt.timedelta(seconds=seconds)
    give(simulation, [0, 1], reclaimed_for=Removal("Reclaimed", "", "preempted"), reclaimed_at=seen_at)
    assert simulation.status["elastic"]["lastResize"]["reason"] == "Reclaimed", "nobody is known yet"
    claimant = Removal(GAVE_BACK, "TFJob n/other", "TFJob n/other needed 1 nvidia.com/gpu")
    give(simulation, [0, 1], reclaimed_for=claimant, reclaimed_at=seen_at)
    assert simulation.status["elastic"]["lastResize"]["reason"] == reason
    named = ("GaveBack", "scaled from 3 to 2 workers: TFJob n/other needed 1 nvidia.com/gpu")
    assert (named in simulation.events) == (reason == "GaveBack")


def test_a_job_says_that_no_decision_can_be_made_and_keeps_its_workers() -> None:
    simulation, _ = started(horovod())
    give(simulation, [0, 1, 3], [3], reason="AtMaximum", message="the job has the maximum")
    simulation.decision_failure = "the operator cannot choose: ValueError()"
    simulation.settle()
    for allocation in (simulation.allocation, None):
        simulation.allocation = allocation
        simulation.settle()
        elastic = simulation.status["elastic"]
        assert (elastic["members"], elastic["why"]["reason"]) == ("0-1,3", "DecisionFailed")
        assert elastic["why"]["message"] == "the operator cannot choose: ValueError()"
    simulation.decision_failure = ""
    give(simulation, [0, 1, 3], [3], reason="AtMaximum", message="the job has the maximum")
    assert simulation.status["elastic"]["why"]["reason"] == "AtMaximum"


def test_the_peers_of_a_worker_on_a_lost_node_learn_of_it_although_it_is_replaced_under_another_index() -> None:
    simulation, cluster = started(horovod())
    cluster.stop_heartbeat("j-worker-1")
    give(simulation, [0, 2], leaving={1: Removal(NOTICED, "", "node spot ends")})
    hosts = simulation.get("configmaps", "j-config")["data"]["discover_hosts.sh"]
    assert "|| echo j-worker-1:1" in hosts, "it is listed until the remote shell to it has ended"


def test_a_lost_worker_that_the_job_asks_for_is_replaced() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 1])
    cluster.preempt("j-worker-1")
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]
    assert simulation.status["restarts"]["disruptions"] == 1


def test_the_recorded_workers_stay_while_a_new_operator_has_not_decided() -> None:
    simulation, _ = started(horovod())
    give(simulation, [0, 1, 3], [3])
    simulation.allocation = None
    simulation.restart_operator()
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1", "j-worker-3"]


def test_a_worker_on_idle_capacity_that_went_while_no_operator_ran_is_not_created_again() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 1, 3], [3])
    cluster.preempt("j-worker-3")
    cluster.finish_deletions()
    simulation.allocation = None
    simulation.restart_operator()
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]
    assert simulation.status["elastic"]["members"] == "0-1"


def test_without_a_decision_or_the_annotation_replicas_is_the_number() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 3], [3])
    assert simulation.job is not None
    simulation.job["metadata"]["annotations"][SCALING] = "manual"
    simulation.allocation = None
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]
    assert "elastic" not in simulation.status


def test_a_job_that_cannot_be_shared_says_so_and_is_scaled_by_hand() -> None:
    simulation, cluster = started(horovod())
    simulation.allocation = Allocation(error="the operator may not read nodes: allow it")
    simulation.settle()
    elastic = simulation.status["elastic"]
    assert (elastic["scaling"], elastic["why"]["reason"]) == ("manual", "NotShared")
    assert ("NotShared", "the job is scaled by hand: the operator may not read nodes: allow it") in simulation.events
    cluster.scale("Worker", 3)
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1", "j-worker-2"]


def torchrun(workers: int = 2, bounds: tuple[int, int] = (1, 4), **annotations: str) -> Manifest:
    policy = {"elasticPolicy": {"minReplicas": bounds[0], "maxReplicas": bounds[1]}}
    return annotated(manifests.job("PyTorchJob", Worker=workers, spec=policy), **{"scaling": "idle", **annotations})


def plain(kind: str) -> Manifest:
    return annotated(manifests.job(kind, Worker=2), scaling="idle")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        pytest.param(plain("TFJob"), "is fixed while it runs", id="a kind with a fixed number"),
        pytest.param(plain("PyTorchJob"), "elasticPolicy is missing", id="no policy"),
        pytest.param(plain("PaddleJob"), "etcd", id="paddle"),
        pytest.param(torchrun(scaling="auto"), "use manual, yield or idle", id="an unknown mode"),
        pytest.param(torchrun(workers=9), "is 9, not between 1 and 4", id="more workers than the maximum"),
        pytest.param(torchrun(bounds=(3, 2)), "is more than the largest, 2", id="minimum above maximum"),
        pytest.param(torchrun(sizes="2,8"), "has 8, not", id="a size outside the bounds"),
        pytest.param(torchrun(sizes="two"), "such as 1,2,4", id="a size that is no number"),
        pytest.param(torchrun(sizes="1,4"), "without 2, the number that the job asks for: add it", id="sizes without replicas"),
        pytest.param(torchrun(sizes="2,4"), "without 1, the smallest number of workers: add it", id="sizes without min"),
        pytest.param(torchrun(weight="-1"), "0.01 and 100", id="a negative weight"),
        pytest.param(
            annotated(torchrun(), scaling="idle", **{"checkpoint-seconds": "5m"}),
            "is '5m': use a number of seconds",
            id="a time with a unit",
        ),
        pytest.param(
            annotated(torchrun(), scaling="idle", **{"start-seconds": "999999"}), "up to 86400", id="a time that is too long"
        ),
        pytest.param(torchrun(notices="yes"), "is 'yes': use true or false", id="an unknown answer"),
    ],
)
def test_a_request_that_cannot_be_fulfilled_is_reported_and_the_job_runs_as_manual(job: Manifest, words: str) -> None:
    simulation, _ = started(job)
    elastic = simulation.status["elastic"]
    assert elastic["scaling"] == "manual"
    assert words in elastic["why"]["message"]
    assert [text for reason, text in simulation.events if reason == "NotShared" and words in text]
    assert len(own_pods(simulation)) == sum(spec["replicas"] for spec in next(iter(job["spec"].values())).values())


def test_a_gang_needs_the_smallest_number_of_workers_only() -> None:
    simulation, _ = posted(horovod(), "scheduler-plugins")
    (group,) = simulation.of("podgroups")
    assert group["spec"]["minMember"] == 2


def test_torchrun_may_restart_often_unless_the_job_says_otherwise() -> None:
    simulation, _ = started(torchrun())
    env = {entry["name"]: entry.get("value") for entry in simulation.pod("j-worker-0")["spec"]["containers"][0]["env"]}
    assert env["PET_MAX_RESTARTS"] == "100"


def test_a_suspended_job_resumes_with_the_requested_workers() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 1, 3], [3])
    assert simulation.job is not None
    simulation.job["spec"]["runPolicy"]["suspend"] = True
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert "elastic" not in simulation.status
    simulation.allocation = None
    simulation.job["spec"]["runPolicy"]["suspend"] = False
    simulation.settle()
    assert workers(simulation) == ["j-worker-0", "j-worker-1"]


@pytest.mark.parametrize(
    ("job", "pod"),
    [pytest.param(torchrun(), "j-worker-0", id="host of the rendezvous"), pytest.param(horovod(), "j-launcher", id="launcher")],
)
def test_a_steady_pod_whose_node_ends_is_replaced_as_a_disruption(job: Manifest, pod: str) -> None:
    simulation, cluster = started(job)
    uid = simulation.pod(pod)["metadata"]["uid"]
    give(simulation, [0, 1], evicted={uid: f"pod {pod} is replaced: node a is being terminated (spot-itn)"})
    assert "deletionTimestamp" in simulation.pod(pod)["metadata"]
    assert ("Noticed", f"pod {pod} is replaced: node a is being terminated (spot-itn)") in simulation.events
    cluster.finish_deletions()
    simulation.settle()
    assert simulation.pod(pod)["metadata"]["uid"] != uid
    counts = simulation.status["restarts"]
    assert (counts["disruptions"], counts.get("charged", 0)) == (1, 0)
    assert not simulation.is_true("Failed")


def avoids_spot_nodes(simulation: Simulation, name: str) -> bool:
    return "gke-spot" in str(simulation.pod(name)["spec"].get("affinity", {}))


def test_launcher_and_rendezvous_host_of_jobs_with_the_annotation_avoid_spot_nodes() -> None:
    simulation, _ = started(horovod())
    assert avoids_spot_nodes(simulation, "j-launcher")
    assert not avoids_spot_nodes(simulation, "j-worker-0")
    simulation, _ = started(torchrun())
    assert avoids_spot_nodes(simulation, "j-worker-0")
    assert not avoids_spot_nodes(simulation, "j-worker-1")
    simulation, _ = started(torchrun(scaling="manual"))
    assert not avoids_spot_nodes(simulation, "j-worker-0")


def test_an_affinity_of_the_template_is_kept() -> None:
    job = torchrun()
    own: Manifest = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = own
    simulation, _ = started(job)
    assert simulation.pod("j-worker-0")["spec"]["affinity"] == own
