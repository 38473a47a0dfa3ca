"""Elastic jobs in the output of `ls`, `describe`, `why` and `status`, and the modes of `scale`."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cli.test_render import NOW, PYTORCH, THEN, pod
from tests.cluster import manifests

from traincrew.cli.render import cluster_status, description, tables
from traincrew.inspection import explanation, observed_job, scaling_limits, waiting_advice
from traincrew.kinds import KINDS

GPU = "nvidia.com/gpu"
MPI = next(kind for kind in KINDS if kind.kind == "MPIJob")
NO_ROOM = {"reason": "NoRoom", "message": f"0/2 nodes are available: 2 Insufficient {GPU}"}
RESIZE = {
    "at": THEN,
    "from": 3,
    "to": 2,
    "reason": "GaveBack",
    "message": f"scaled from 3 to 2 workers: Pod a/b waits for 1 {GPU}",
}
ELASTIC: dict[str, Any] = {
    "scaling": "idle", "min": 1, "wanted": 1, "max": 4, "members": "0-1", "surplus": 1, "workers": "2 (1-4)", "why": NO_ROOM,
    "lastResize": RESIZE, "leaving": [{"index": 2, "reason": "GaveBack", "for": "Pod a/b"}],
}  # fmt: skip
KEEP = "Wait until there is capacity again. `traincrew scale pytorchjob/j manual` keeps the number of workers of the spec."
USED = {"asked": 3600, "surplus": 120, "leaving": 5, "workers": {"asked": 1}, "until": THEN}


def observed(**changes: Any) -> observed_job.ObservedJob:
    document = manifests.job("PyTorchJob", Worker=1, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}})
    document["metadata"] |= {"namespace": "ns", "creationTimestamp": THEN, "uid": "u"}
    running = {"type": "Running", "status": "True", "message": "Running!", "lastTransitionTime": THEN}
    status = {"conditions": [running], "startTime": THEN, "elastic": {**ELASTIC, **changes}, "workerSeconds": USED}
    document["status"] = {**status, "replicaStatuses": {"Worker": {"active": 2}}}
    return observed_job.observe(PYTORCH, json.dumps(document).encode(), (pod("j-worker-0"), pod("j-worker-1", index=1)))


def horovod(state: str, *flags: str) -> observed_job.ObservedJob:
    document = manifests.job("MPIJob", Launcher=1, Worker=2)
    (launcher,) = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    discovery = ("--host-discovery-script", "/etc/mpi/discover_hosts.sh")
    launcher["command"] = ["horovodrun", "--min-np", "1", *flags, *discovery, "train"]
    document["status"] = {"conditions": [{"type": state, "status": "True", "lastTransitionTime": THEN}]}
    return observed_job.observe(MPI, json.dumps(document).encode())


def test_scale_says_when_the_program_has_the_new_number_of_workers() -> None:
    assert scaling_limits.effect(observed(), 2) == "When the new pods run, torchrun starts the program again on all workers."
    # 60 s for the start of the program, and 7 s in which others may join.
    assert scaling_limits.effect(observed(), 0).startswith("Workers are removed 67 s after the start of the last one;")
    assert scaling_limits.effect(observed(), 1) == ""
    assert scaling_limits.effect(horovod("Created"), 3).startswith("Horovod has not started: it starts with the workers")
    assert scaling_limits.effect(horovod("Running"), 3).startswith("When the pod of a new worker is ready, Horovod adds")
    limited = horovod("Running", "--max-np", "3")
    assert scaling_limits.effect(limited, 3) == scaling_limits.effect(horovod("Running"), 3)
    assert scaling_limits.effect(limited, 4).startswith("Horovod uses at most 3 of them: ")
    assert "Their pods are deleted 30 s later." in scaling_limits.effect(horovod("Running"), 1)


def test_scale_names_the_workers_that_end() -> None:
    document = manifests.job("PyTorchJob", Worker=3, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}})
    pods = (pod("j-worker-2", index=2), pod("j-worker-0"), pod("j-worker-1", index=1))
    job = observed_job.observe(PYTORCH, json.dumps(document).encode(), pods)
    assert scaling_limits.ending(job, 1) == "scaling to 1: worker-1, worker-2 end"
    assert scaling_limits.ending(job, 2) == "scaling to 2: worker-2 ends"
    assert scaling_limits.ending(job, 4) == ""
    document["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "idle"}
    chosen = observed_job.observe(PYTORCH, json.dumps(document).encode(), pods)
    assert scaling_limits.ending(chosen, 1) == "", "the operator chooses"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({"maxRestarts": 10}, "spec.elasticPolicy.maxRestarts is 10, and torchrun counts", id="too few"),
        pytest.param({}, "Pods that run keep their settings: torchrun counts every worker that leaves as a restart", id="none"),
        pytest.param({"maxRestarts": 100}, "", id="enough"),
    ],
)
def test_scale_warns_if_the_restarts_of_torchrun_will_be_used_up(policy: dict[str, int], expected: str) -> None:
    document = manifests.job("PyTorchJob", Worker=1, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4, **policy}})
    job = observed_job.observe(PYTORCH, json.dumps(document).encode(), (pod("j-worker-0"),))
    found = scaling_limits.mode_advice(job, "idle")
    assert len(found) == bool(expected)
    assert all(each.startswith(expected) and each.endswith(".") for each in found)
    assert not scaling_limits.mode_advice(job, "manual")
    if expected.startswith("Pods"):
        assert "`traincrew suspend pytorchjob/j` and `traincrew resume pytorchjob/j`" in found[0]


def test_ls_shows_the_bounds_and_why_there_are_not_more_workers() -> None:
    cells = tables.job_cells(observed(), NOW, namespaces=False)
    assert "2/2 (1-4)" in cells
    assert cells[-1] == f"NoRoom: 0/2 nodes are available: 2 Insufficient {GPU}"
    full = observed(why={"reason": "AtMaximum", "message": "the job has the maximum of 2 workers"})
    assert tables.job_cells(full, NOW, namespaces=False)[-1] == ""


def test_describe_shows_bounds_last_change_and_the_time_of_the_workers() -> None:
    text = " ".join(description.describe(observed(), explanation.Evidence(), NOW).split())
    assert f"workers 2 (1-4), idle: 0/2 nodes are available: 2 Insufficient {GPU}" in text
    assert f"last resize scaled from 3 to 2 workers: Pod a/b waits for 1 {GPU}, 2026-01-02 03:00:05 UTC (4m ago)" in text
    assert "worker time 64m asked, 2m on idle capacity, 5s leaving" in text


def test_why_explains_the_number_of_workers() -> None:
    text = "\n".join(explanation.explain(observed(), explanation.Evidence(), NOW).causes)
    assert f"2 (1-4) workers, idle: 0/2 nodes are available: 2 Insufficient {GPU} (NoRoom)" in text
    assert f"scaled from 3 to 2 workers: Pod a/b waits for 1 {GPU} (GaveBack)" in text
    assert "worker 2 leaves for Pod a/b (GaveBack)" in text


def test_why_says_what_to_do_for_more_workers() -> None:
    remedies = explanation.explain(observed(), explanation.Evidence(), NOW).remedies
    assert remedies == (waiting_advice.on_waiting("FailedScheduling", NO_ROOM["message"], ""), KEEP)
    full = observed(why={"reason": "AtMaximum", "message": "the job has the maximum of 2 workers"}, leaving=[])
    (remedy,) = explanation.explain(full, explanation.Evidence(), NOW).remedies
    assert "`traincrew scale pytorchjob/j idle`" in remedy


def test_status_says_what_is_lent_and_what_is_held_back() -> None:
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", GPU: "8"}}}
    worker = {"cpu": 500, GPU: 1}
    requests = cluster_status.Requests([worker] * 5, [worker] * 2, [{GPU: 2}])
    state = cluster_status.resources(node, requests, {})
    assert state[GPU] == {"capacity": 8, "requested": 5, "free": 3, "lent": 2, "heldBack": 2}
    assert cluster_status._amount(GPU, state[GPU]) == (
        "8: 5 requested by pods (of which 2 lent to elastic jobs), 3 free (of which 2 held back for pending pods)"
    )
    plain = cluster_status.resources(node, cluster_status.Requests([worker]), {})
    assert cluster_status._amount("cpu", plain["cpu"]) == "4 cores: 0.5 requested by pods, 3.5 free"


async def test_scale_sets_who_chooses_the_number_of_workers(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    elastic = manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}, Worker=2)
    fixed = manifests.job("TFJob", "t", Worker=2)
    await job_cluster("run", "--detach", write_manifests(tmp_path, elastic, fixed))
    for mode, said in {
        "idle": "from manual to idle (1 to 3 workers)",
        "yield": "from idle to yield (1 to 2 workers)",
        "manual": "from yield to manual (2 workers)",
    }.items():
        assert (await job_cluster("scale", "j", mode))[:2] == (0, f"pytorchjob/j scaling changed {said}\n")
        found = (job_cluster.job() or {})["metadata"]["annotations"]["traincrew.kubeflow.org/scaling"]
        assert found == mode
    code, _, err = await job_cluster("scale", "t", "idle")
    assert code == 2
    assert "tfjob/t cannot be scaled by the operator: the number of workers of this kind is fixed while it runs" in err
    assert "traincrew.kubeflow.org/scaling" not in str((job_cluster.job("t", "tfjobs") or {})["metadata"].get("annotations", {}))


@pytest.mark.parametrize(
    ("word", "message"), [("idel", "did you mean 'idle'?"), ("1.5", "neither a number of workers nor one of")]
)
async def test_an_unknown_mode_is_an_error(job_cluster: JobCluster, word: str, message: str) -> None:
    code, _, err = await job_cluster("scale", "j", word)
    assert (code, message in err) == (2, True), err
