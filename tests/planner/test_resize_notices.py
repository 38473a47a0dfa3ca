"""Notices for the programs of an elastic job: a file while workers are about to leave, and time for a checkpoint."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, started
from tests.planner.simulation import Simulation
from tests.planner.test_elastic_members import annotated, give, horovod, torchrun

from traincrew.model.elastic_allocation import GAVE_BACK, NOTICED, Removal

NOTICE = "traincrew.kubeflow.org/notice"


def notice(simulation: Simulation, pod: str) -> Any:
    text = simulation.pod(pod)["metadata"].get("annotations", {}).get(NOTICE)
    return json.loads(text) if text else None


def with_notices(job: Manifest, **more: str) -> Manifest:
    return annotated(job, scaling="idle", notices="true", **{name.replace("_", "-"): text for name, text in more.items()})


def mounts(simulation: Simulation, pod: str) -> list[str]:
    return [each["mountPath"] for each in simulation.pod(pod)["spec"]["containers"][0].get("volumeMounts", ())]


def test_the_file_is_there_for_jobs_that_ask_for_it() -> None:
    simulation, _ = started(with_notices(torchrun()))
    assert mounts(simulation, "j-worker-0") == ["/etc/traincrew"]
    (volume,) = simulation.pod("j-worker-0")["spec"]["volumes"]
    assert volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] == f"metadata.annotations['{NOTICE}']"
    simulation, _ = started(torchrun())
    assert not mounts(simulation, "j-worker-0")


@pytest.mark.parametrize("reason", [GAVE_BACK, NOTICED])
def test_a_worker_of_torchrun_stays_for_the_time_of_a_checkpoint(reason: str) -> None:
    simulation, cluster = started(with_notices(torchrun(workers=3), notice_seconds="20"))
    cluster.pass_time(300)
    give(simulation, [0, 1], leaving={2: Removal(reason, "TFJob a/b", "somebody waits")})
    for pod in ("j-worker-0", "j-worker-2"):
        said = notice(simulation, pod)
        assert (said["reason"], said["message"], said["leaving"]) == (reason, "somebody waits", ["j-worker-2"])
    assert "deletionTimestamp" not in simulation.pod("j-worker-2")["metadata"]
    assert simulation.plan().requeue_at is not None
    simulation.restart_operator()
    cluster.pass_time(19)
    simulation.settle()
    assert "deletionTimestamp" not in simulation.pod("j-worker-2")["metadata"]
    cluster.pass_time(2)
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert own_pods(simulation) == ["j-worker-0", "j-worker-1"]
    assert notice(simulation, "j-worker-0") is None


def test_without_seconds_nobody_waits() -> None:
    simulation, cluster = started(with_notices(torchrun(workers=3)))
    cluster.pass_time(300)
    give(simulation, [0, 1], leaving={2: Removal(GAVE_BACK, "TFJob a/b", "somebody waits")})
    assert "deletionTimestamp" in simulation.pod("j-worker-2")["metadata"]


def test_horovod_loses_nothing_and_does_not_wait() -> None:
    simulation, cluster = started(with_notices(horovod(), notice_seconds="20"))
    cluster.pass_time(300)
    give(simulation, [0], leaving={1: Removal(GAVE_BACK, "TFJob a/b", "somebody waits")})
    assert "deletionTimestamp" in simulation.pod("j-worker-1")["metadata"]


def test_a_worker_that_leaves_before_the_end_of_its_node_is_a_disruption_once() -> None:
    simulation, cluster = started(horovod())
    give(simulation, [0, 2], leaving={1: Removal(NOTICED, "", "node spot ends")})
    assert simulation.status["restarts"]["disruptions"] == 1
    cluster.finish_deletions()
    give(simulation, [0, 2])
    assert simulation.status["restarts"] == {"disruptions": 1} | simulation.status["restarts"]
    give(simulation, [0, 2], leaving={})
    assert simulation.status["restarts"]["disruptions"] == 1
