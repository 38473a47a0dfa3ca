"""Processes that are killed, fail, exceed their memory or their deadline: the result for jobs of each kind and policy."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import signal
from typing import Any

import pytest
from tests.cluster import jobs_with_leader, manifests
from tests.cluster.api import Object, eventually
from tests.cluster.submitted_job import SubmittedJob
from tests.seeds import checkpoints, processes
from tests.seeds.clusters import TIMEOUT_SECONDS, Cluster

PERMANENT = 3
STAYS = f"trap 'exit {PERMANENT}' USR1; echo ready; while :; do sleep 0.1; done"
"""A worker that trains until it is stopped, and fails on request."""


@dataclasses.dataclass(frozen=True)
class RestartCase:
    """A restart policy, the event that hits a worker, and which component restarts it."""

    policy: str
    blow: signal.Signals
    restarted_by: str = ""

    @property
    def code(self) -> int:
        return 137 if self.blow is signal.SIGKILL else PERMANENT


CASES = {
    "always": RestartCase("Always", signal.SIGKILL, "node"),
    "onfailure": RestartCase("OnFailure", signal.SIGKILL, "node"),
    "never": RestartCase("Never", signal.SIGKILL),
    "exitcode-retryable": RestartCase("ExitCode", signal.SIGKILL, "operator"),
    "exitcode-permanent": RestartCase("ExitCode", signal.SIGUSR1),
}


def job(kind: str, name: str, policy: str, run: Object | None = None, **worker: Any) -> Object:
    """A leader if the kind has one, and two workers. Keywords are further fields of the worker's container."""
    stays: Object = {"command": ["sh", "-c", STAYS]}
    roles: Object = {"Worker": manifests.replicas(kind, 2, policy, **{**stays, **worker})}
    if leader := jobs_with_leader.LEADERS[kind]:
        roles[leader] = manifests.replicas(kind, 1, policy, **stays)
    for role in roles.values():
        role["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return manifests.job(kind, name, run=run, **roles)


def submitted(cluster: Cluster, body: Object) -> SubmittedJob:
    return SubmittedJob(cluster.machine.api, "default", body)


def runs(made: SubmittedJob) -> dict[str, Object]:
    """Wait until all pods are ready, and return them."""
    names = set(jobs_with_leader.pods(made.kind, 2, made.name))

    def ready() -> dict[str, Object] | bool:
        found = made.pods()
        return found.keys() == names and all(_ready(pod) for pod in found.values()) and found

    found: dict[str, Object] = eventually(ready, TIMEOUT_SECONDS, f"{made.name} is {made.status}")
    eventually(lambda: made.is_true("Running"), TIMEOUT_SECONDS)
    return found


def _ready(pod: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def restarts(pod: Object) -> int:
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", ()))


def remove(*jobs: SubmittedJob) -> None:
    for each in jobs:
        each.api.delete(each.plural, "default", each.name)
    eventually(lambda: not any(each.pods() for each in jobs), TIMEOUT_SECONDS)


@pytest.mark.parametrize("kind", jobs_with_leader.EVERY)
def test_a_worker_that_is_killed_meets_what_its_policy_says(cluster: Cluster, kind: str) -> None:
    prefix = kind.lower()
    jobs = {name: submitted(cluster, job(kind, f"{prefix}-{name}", case.policy)) for name, case in CASES.items()}
    before = {name: runs(made) for name, made in jobs.items()}
    for name, case in CASES.items():
        lost = before[name][f"{prefix}-{name}-worker-1"]
        cluster.say(f"{case.blow.name} to {lost['metadata']['name']} under {case.policy}")
        processes.send(cluster.machine, lost, case.blow)
    for name, case in CASES.items():
        meets_its_fate(jobs[name], before[name], case)
    remove(*jobs.values())


def first_failure(made: SubmittedJob) -> Object:
    found: Object = eventually(lambda: made.status.get("failure"), TIMEOUT_SECONDS)
    return found


def meets_its_fate(made: SubmittedJob, before: dict[str, Object], case: RestartCase) -> None:
    lost = f"{made.name}-worker-1"
    failure = first_failure(made)
    found = (failure["replica"], failure["pod"], failure["uid"], failure["exitCode"], failure["reason"])
    assert found == ("Worker 1", lost, before[lost]["metadata"]["uid"], case.code, "Error")
    fate = {"node": is_started_again_in_its_pod, "operator": is_created_anew, "": ends_its_job}[case.restarted_by]
    fate(made, before, lost)
    if not case.restarted_by:
        assert made.condition("Failed")["message"] == _sentence(made, case.policy)
    assert made.status["failure"] == failure, "the first cause stays"


def is_started_again_in_its_pod(made: SubmittedJob, before: dict[str, Object], lost: str) -> None:
    eventually(lambda: restarts(made.pods()[lost]) == 1 and _ready(made.pods()[lost]), TIMEOUT_SECONDS)
    after = runs(made)
    assert _uids(after) == _uids(before)
    assert {name: restarts(pod) for name, pod in after.items()} == {name: int(name == lost) for name in before}
    (status,) = after[lost]["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["exitCode"] == 137
    assert (made.restart_counts(), made.events(f"{made.kind}Restarting")) == ((0, 0), [])


def is_created_anew(made: SubmittedJob, before: dict[str, Object], lost: str) -> None:
    event = made.event(f"{made.kind}Restarting")
    assert event["message"] == f"job {made.name} is restarting because Worker replica(s) failed."
    eventually(lambda: lost in made.pods() and made.uids()[lost] != before[lost]["metadata"]["uid"], TIMEOUT_SECONDS)
    after = runs(made)
    assert {name for name, uid in _uids(after).items() if uid != _uids(before)[name]} == {lost}
    assert {restarts(pod) for pod in after.values()} == {0}
    eventually(lambda: "Restarting" not in made.states())
    assert made.restart_counts() == (1, 0)


def ends_its_job(made: SubmittedJob, before: dict[str, Object], lost: str) -> None:
    eventually(lambda: made.is_true("Failed"), TIMEOUT_SECONDS)
    status, pods = made.status, made.pods()
    assert status["completionTime"]
    assert made.states()["Running"] == "False"
    assert pods[lost]["metadata"]["uid"] == before[lost]["metadata"]["uid"], "it is kept to be looked at"
    assert (pods[lost]["status"]["phase"], restarts(pods[lost]), made.restart_counts()) == ("Failed", 0, (0, 0))
    assert status["replicaStatuses"]["Worker"]["failed"] == 1


def _sentence(made: SubmittedJob, policy: str) -> str:
    if policy == "ExitCode":
        return f'job "{made.name}" is failing because "Worker" replica(s) failed.'
    if made.kind == "TFJob":
        return f"TFJob default/{made.name} has failed because 1 Worker replica(s) failed."
    return f"{made.kind} {made.name} is failed because 1 Worker replica(s) failed."


def _uids(pods: dict[str, Object]) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


FRESH = 30.0
"""A loss that is far below that of untrained weights, which is about 140, and far above that after 50 steps."""
EATER = "kept = []\nwhile True: kept.append(b'x' * (4 << 20))"


def second_worker(does: str) -> list[str]:
    """A command for both roles. `$` of the shell is doubled, so that Kubernetes does not expand it."""
    return ["sh", "-c", f"case $$(hostname) in *-worker-1) {does};; esac\n{STAYS}"]


def test_out_of_memory_is_the_workers_own_failure(cluster: Cluster) -> None:
    eats = f'[ -e /kept/$$(hostname) ] || {{ touch /kept/$$(hostname); exec python3 -c "{EATER}"; }}'
    (room := cluster.machine.home / "kept").mkdir()
    jobs = {}
    for policy in ("OnFailure", "ExitCode", "Never"):
        limits, mounts = {"limits": {"memory": "64Mi"}}, [{"name": "kept", "mountPath": "/kept"}]
        body = job(
            "PyTorchJob", f"oom-{policy.lower()}", policy, command=second_worker(eats), resources=limits, volumeMounts=mounts
        )
        template = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
        template["spec"]["volumes"] = [{"name": "kept", "hostPath": {"path": str(room)}}]
        jobs[policy] = submitted(cluster, body)
    for made in jobs.values():
        failure = first_failure(made)
        assert (failure["replica"], failure["exitCode"], failure["reason"]) == ("Worker 1", 137, "OOMKilled")
    eventually(lambda: jobs["Never"].is_true("Failed"), TIMEOUT_SECONDS)
    assert sum(restarts(pod) for pod in runs(jobs["OnFailure"]).values()) == 1
    assert sum(restarts(pod) for pod in runs(jobs["ExitCode"]).values()) == 0
    assert {policy: made.restart_counts() for policy, made in jobs.items()} == {
        "OnFailure": (0, 0),
        "ExitCode": (1, 0),
        "Never": (0, 0),
    }
    remove(*jobs.values())


def test_a_crash_loop_ends_at_the_limit_under_every_restart_policy(cluster: Cluster) -> None:
    limit, command = {"backoffLimit": 2, "cleanPodPolicy": "None"}, second_worker("echo no data; exit 137")
    by_node, by_operator = (
        submitted(cluster, job("PyTorchJob", f"loop-{policy.lower()}", policy, limit, command=command))
        for policy in ("OnFailure", "ExitCode")
    )
    for made in (by_node, by_operator):
        eventually(lambda made=made: made.is_true("Failed"), TIMEOUT_SECONDS)  # type: ignore[misc]
        said = made.condition("Failed")["message"]
        assert said == f"Job {made.name} has failed because it has reached the specified backoff limit"
        eventually(lambda made=made: not made.pods(), TIMEOUT_SECONDS)  # type: ignore[misc]
        failure = made.status["failure"]
        assert (failure["pod"], failure["exitCode"], failure["message"].strip()) == (f"{made.name}-worker-1", 137, "no data")
    assert by_operator.restart_counts() == (2, 0)
    remove(by_node, by_operator)


def test_a_job_that_takes_too_long_ends_with_all_its_processes(cluster: Cluster) -> None:
    made = submitted(cluster, job("JAXJob", "long", "OnFailure", {"cleanPodPolicy": "None"}))
    pids = [pid for pod in runs(made).values() for pid in processes.commands(cluster.machine, pod)]
    assert len(pids) == 2
    # Set only now, since the start may take long on a busy machine.
    active = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(made.status["startTime"])
    made.patch({"runPolicy": {"activeDeadlineSeconds": int(active.total_seconds()) + 3}})
    eventually(lambda: made.is_true("Failed"), TIMEOUT_SECONDS)
    said = made.condition("Failed")["message"]
    assert said == "Job long has failed because it was active longer than specified deadline"
    eventually(lambda: not made.pods(), TIMEOUT_SECONDS)
    assert not [pid for pid in pids if processes.lives(pid)]
    remove(made)


def test_a_suspended_training_goes_on_from_its_checkpoint(cluster: Cluster) -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "checkpoints"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    cluster.machine.create(claim)
    made, master = submitted(cluster, checkpoints.job("pauses", "checkpoints")), "pauses-master-0"
    cluster.says(master, r"rank=0 step=51 ")  # so what was learnt by step 50 is kept
    began, pods = made.status["startTime"], made.uids()

    cluster.say("suspended")
    made.suspend()
    eventually(lambda: made.is_true("Suspended") and not made.pods(), TIMEOUT_SECONDS)
    assert made.states()["Running"] == "False"
    assert not made.services()

    cluster.say("resumed")
    made.suspend(False)
    after = int(cluster.says(master, r"rank=0 world=2 begins after step=(\d+)")[1])
    assert 50 <= after < checkpoints.STEPS
    assert after % checkpoints.EVERY == 0
    cluster.ends("pytorchjob/pauses")
    steps = [(int(number), float(loss)) for number, loss in re.findall(r"rank=0 step=(\d+) loss=(\S+)", cluster.log(master))]
    assert [number for number, _ in steps] == list(range(after + 1, checkpoints.STEPS + 1))
    assert steps[0][1] < FRESH, "it goes on with the weights, not only with the number"
    assert steps[-1][1] < steps[0][1]
    assert made.status["startTime"] > began
    assert not set(made.uids().values()) & set(pods.values())
    assert ("failure" in made.status, made.restart_counts()) == (False, (0, 0))
    remove(made)
