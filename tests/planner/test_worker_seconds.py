"""Worker seconds of elastic jobs: the parts add up to the life of the pods, whatever happens to them."""

from __future__ import annotations

import datetime as dt
import random

import msgspec
import pytest
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.manifests import Manifest
from tests.planner.scenarios import started
from tests.planner.simulation import Simulation
from tests.planner.test_elastic_members import COMMAND, annotated, give, horovod

from traincrew.model.elastic_allocation import GAVE_BACK, Removal
from traincrew.model.status import WorkerSeconds

ON_NODES = ("asked", "surplus", "starting", "leaving")


def torchrun() -> Manifest:
    policy = {"minReplicas": 1, "maxReplicas": 4}
    job = manifests.job("PyTorchJob", spec={"elasticPolicy": policy}, Worker=2)
    return annotated(job, scaling="idle", **{"checkpoint-seconds": "100"})


def horovod_over_ssh() -> Manifest:
    job = manifests.ssh_job(Launcher=1, Worker=2)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = COMMAND
    return annotated(job, scaling="idle")


def recorded(simulation: Simulation) -> WorkerSeconds:
    return msgspec.convert(simulation.status["workerSeconds"], WorkerSeconds)


def live_workers(simulation: Simulation) -> tuple[int, int]:
    """Worker pods on nodes, and without a node."""
    pods = [pod for pod in simulation.of("pods") if "worker" in pod["metadata"]["name"]]
    live = [pod for pod in pods if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in live)
    return bound, len(live) - bound


class WorkerLife:
    """Sums up the life of the worker pods, step by step."""

    def __init__(self, simulation: Simulation, cluster: ClusterEvents) -> None:
        self.simulation, self.cluster = simulation, cluster
        self.on_nodes = self.waiting = 0.0
        self.since = dict(recorded(simulation).at(simulation.now))

    def pass_time(self, seconds: float) -> None:
        self.simulation.settle()
        bound, waiting = live_workers(self.simulation)
        self.on_nodes += bound * seconds
        self.waiting += waiting * seconds
        self.cluster.pass_time(seconds)
        self.simulation.settle()

    def sums(self) -> dict[str, float]:
        now = recorded(self.simulation).at(self.simulation.now)
        return {part: now[part] - self.since[part] for part in now}


def change(choice: random.Random, simulation: Simulation, cluster: ClusterEvents) -> None:
    workers = [pod["metadata"]["name"] for pod in simulation.of("pods") if "worker" in pod["metadata"]["name"]]
    what = choice.choice(["share", "share", "run", "run", "end", "disrupt", "restart operator"])
    if what == "share":
        members = [0, *choice.sample([1, 2, 3], choice.randint(0, 3))]
        give(simulation, sorted(members), [index for index in members if index > 1])
    elif what == "run":
        cluster.run_all()
    elif what == "end":
        cluster.finish_deletions()
    elif what == "disrupt" and workers:
        getattr(cluster, choice.choice(["evict", "preempt"]))(choice.choice(workers))
    elif what == "restart operator":
        simulation.restart_operator()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("job", [horovod, horovod_over_ssh, torchrun])
def test_the_parts_add_up_to_the_life_of_the_pods_within_one_percent(seed: int, job: object) -> None:
    choice = random.Random(seed)
    simulation, cluster = started(job())  # type: ignore[operator]
    life = WorkerLife(simulation, cluster)
    for _ in range(40):
        change(choice, simulation, cluster)
        life.pass_time(choice.choice([0.4, 3, 17, 60, 301.7]))
        if simulation.is_true("Failed"):
            break
    sums = life.sums()
    assert sum(sums[part] for part in ON_NODES) == pytest.approx(life.on_nodes, rel=0.01, abs=2)
    assert sums["waiting"] == pytest.approx(life.waiting, rel=0.01, abs=2)


def test_each_part_counts_what_its_name_says() -> None:
    simulation, cluster = started(horovod())
    life = WorkerLife(simulation, cluster)
    life.pass_time(100)  # 2 asked
    give(simulation, [0, 1, 2], [2])
    life.pass_time(10)  # 1 waiting
    cluster.schedule("j-worker-2")
    life.pass_time(20)  # 1 starting
    cluster.run("j-worker-2")
    life.pass_time(300)  # 1 surplus
    give(simulation, [0, 1], leaving={2: Removal(GAVE_BACK, "Pod default/other")})
    life.pass_time(5)  # 1 leaving
    cluster.finish_deletions()
    life.pass_time(65)
    found = life.sums()
    assert {part: found[part] for part in (*ON_NODES, "waiting", "redone")} == {
        "asked": 2 * 500, "surplus": 300, "starting": 20, "leaving": 5, "waiting": 10, "redone": 0,
    }  # fmt: skip
    assert recorded(simulation).resizes == {"Grew": 1, "GaveBack": 1}


def test_a_status_is_not_written_because_time_passes() -> None:
    simulation, cluster = started(horovod())
    before = simulation.status
    cluster.pass_time(3600)
    assert simulation.plan().empty
    simulation.settle()
    assert simulation.status == before
    assert recorded(simulation).at(simulation.now)["asked"] >= 2 * 3600


def test_work_that_a_resize_of_torchrun_repeats_is_estimated() -> None:
    simulation, _ = started(torchrun())
    give(simulation, [0, 1, 2], [2])
    assert recorded(simulation).redone == 2 * 50


def test_the_sums_are_kept_while_the_job_is_suspended_and_end_with_the_job() -> None:
    simulation, cluster = started(horovod())
    cluster.pass_time(100)
    assert simulation.job is not None
    simulation.job["spec"].setdefault("runPolicy", {})["suspend"] = True
    simulation.settle()
    first = recorded(simulation)
    assert first.asked >= 200
    cluster.pass_time(1000)
    assert recorded(simulation).at(simulation.now) == first.at(first.until or simulation.now)


def test_jobs_that_are_scaled_by_hand_have_none() -> None:
    simulation, _ = started(manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}}, Worker=2))
    assert "workerSeconds" not in simulation.status


def test_readers_add_what_has_passed() -> None:
    until = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    found = WorkerSeconds(asked=10, workers={"asked": 2, "leaving": 1}, until=until).at(until + dt.timedelta(seconds=3))
    assert (found["asked"], found["leaving"], found["surplus"]) == (16, 3, 0)
