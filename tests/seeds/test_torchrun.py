"""torchrun elastic: workers join and leave during training, and all restart when the rendezvous host is lost."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable

import pytest
import yaml
from tests.cluster.api import Object, eventually
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster

JOB = "pytorch-elastic"
WORKERS = [f"{JOB}-worker-{index}" for index in range(3)]
MARGIN = 10
"""Steps between two checkpoints of the example."""
_RESUMED = re.compile(r"resumes at step=(\d+)")
_STEP = re.compile(r"^rank=(\d+) world=(\d+) host=(\S+) step=(\d+) loss=([\d.]+)$", re.MULTILINE)


def submit(cluster: Cluster, folder: pathlib.Path, steps: int, **policy: object) -> None:
    """The example with more and slower steps, so that it can be scaled while it trains."""
    job = yaml.safe_load((EXAMPLES / "pytorch/elastic/job.yaml").read_text())
    job["spec"]["elasticPolicy"] |= policy
    container = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["args"][:4] = ["--steps", str(steps), "--pause", "0.2"]
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.kubectl("create", "-f", str(path))


def trains(cluster: Cluster, worker: str, world: int, after: int = 0) -> None:
    """Wait until this worker trains with this world size, after a position in its log."""
    cluster.says(worker, rf"(?s)(?<=\A.{{{after}}}).*?world={world} host={worker} step=\d+ ")


def scale(cluster: Cluster, workers: int) -> None:
    cluster.say(f"kubectl scale pytorchjob {JOB} --replicas={workers}")
    cluster.kubectl("scale", "pytorchjob", JOB, f"--replicas={workers}")


def world_sizes(log: str) -> list[int]:
    """The successive world sizes in the log of a worker."""
    found = [int(world) for _, world, _, _, _ in _STEP.findall(log)]
    return [world for before, world in zip([0, *found], found, strict=False) if world != before]


def assert_no_more_than_a_checkpoint_was_lost(log: str) -> None:
    furthest = 0
    for line in log.splitlines():
        if step := _STEP.match(line):
            furthest = max(furthest, int(step[4]))
        elif resumed := _RESUMED.search(line):
            assert int(resumed[1]) >= furthest - MARGIN, f"fell from {furthest} to {resumed[1]}:\n{log}"
    assert furthest > 0, log


def assert_it_learnt(log: str) -> None:
    losses = [float(loss) for _, _, _, _, loss in _STEP.findall(log)]
    assert losses[-1] < losses[0] * 0.8, losses


def test_an_elastic_job_is_scaled_from_two_to_three_to_two_while_it_trains(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    submit(cluster, tmp_path, 600)  # workers are not deleted before they have had time to connect
    trains(cluster, WORKERS[0], 2)
    scale(cluster, 3)
    trains(cluster, WORKERS[2], 3)
    seen = len(cluster.log(WORKERS[0]))
    uids = [cluster.get("pod", name)["metadata"]["uid"] for name in WORKERS[:2]]
    scale(cluster, 2)
    trains(cluster, WORKERS[0], 2, after=seen)
    ended = cluster.ends(f"pytorchjob/{JOB}")
    assert "failure" not in ended["status"], ended["status"]
    for name, uid in zip(WORKERS[:2], uids, strict=True):
        pod, said = cluster.get("pod", name), cluster.log(name)
        assert (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"]) == (uid, 0)
        assert world_sizes(said) == [2, 3, 2], said
        assert "gradients exchanged: weights equal on 2 ranks" in said
        assert_no_more_than_a_checkpoint_was_lost(said)
        assert_it_learnt(said)
    cluster.delete(f"pytorchjob/{JOB}")


def test_an_elastic_job_that_is_scaled_up_and_down_before_it_trains_trains_with_the_last_number(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    """A worker that is deleted when the others wait for its processes would be waited for until a timeout of torch."""
    submit(cluster, tmp_path, 100_000, maxReplicas=4)
    scale(cluster, 4)
    phases = ("get", "pods", "-o", "jsonpath={.items[*].status.phase}")
    eventually(lambda: cluster.kubectl(*phases).count("Running") == 4, TIMEOUT_SECONDS)
    scale(cluster, 1)
    trains(cluster, WORKERS[0], 1)
    status = cluster.get("pytorchjob", JOB)["status"]
    assert "failure" not in status, status
    assert cluster.get("pod", WORKERS[0])["status"]["containerStatuses"][0]["restartCount"] == 0
    cluster.delete(f"pytorchjob/{JOB}")


def usage(cores: str) -> list[Object]:
    """Target CPU utilization of the autoscaler."""
    return [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": cores}}}]


def patch(cluster: Cluster, resource: str, change: Object) -> None:
    cluster.say(f"kubectl patch {resource} {JOB}: {json.dumps(change)}")
    cluster.kubectl("patch", resource, JOB, "--type", "merge", "-p", json.dumps(change))


def test_an_autoscaler_scales_a_busy_job_up_and_an_idle_job_down(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    submit(cluster, tmp_path, 100_000, minReplicas=2, metrics=usage("64"))
    trains(cluster, WORKERS[0], 2)
    patch(cluster, "hpa", {"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}})
    patch(cluster, "pytorchjob", {"spec": {"elasticPolicy": {"metrics": usage("1m")}}})
    trains(cluster, WORKERS[2], 3)
    seen = len(cluster.log(WORKERS[0]))
    patch(cluster, "pytorchjob", {"spec": {"elasticPolicy": {"metrics": usage("64")}}})
    trains(cluster, WORKERS[0], 2, after=seen)
    output = cluster.kubectl("describe", "hpa", JOB)
    assert "New size: 3; reason: cpu resource above target" in output, output
    assert "New size: 2; reason: All metrics below target" in output, output
    assert_no_more_than_a_checkpoint_was_lost(cluster.log(WORKERS[0]))
    cluster.delete(f"pytorchjob/{JOB}")


def evict(cluster: Cluster, pod: str) -> None:
    cluster.say(f"eviction of {pod}")
    uid = cluster.get("pod", pod)["metadata"]["uid"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}}
    cluster.machine.api.call("POST", f"/api/v1/namespaces/default/pods/{pod}/eviction", body)
    events = eventually(lambda: "RendezvousLost" in (text := cluster.kubectl("get", "events")) and text, TIMEOUT_SECONDS)
    assert "is restarting because Worker replica(s) failed" in events
    eventually(lambda: cluster.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}", check=False) != uid, TIMEOUT_SECONDS)


def kill(cluster: Cluster, pod: str) -> None:
    """SIGKILL to torchrun, which hosts the store; the pod stays."""
    cluster.say(f"kill -9 of torchrun on {pod}")
    cluster.kubectl("exec", pod, "--", "sh", "-c", "kill -9 $(cut -d' ' -f1 /proc/1/task/1/children)")


@pytest.mark.parametrize(
    ("lose", "output"),
    [
        pytest.param(evict, f"last failure: Worker 0 (pod {WORKERS[0]}) was lost", id="evicted"),
        # The first failure, or also the last one if worker 1 was seen to end before the job restarts.
        pytest.param(kill, f"failure: Worker 0 (pod {WORKERS[0]}) exited with code 137", id="killed"),
    ],
)
def test_when_the_worker_is_lost_at_which_they_meet_all_start_again_and_the_job_says_why(
    cluster: Cluster, tmp_path: pathlib.Path, lose: Callable[[Cluster, str], None], output: str
) -> None:
    submit(cluster, tmp_path, 100)
    trains(cluster, WORKERS[1], 2)
    lose(cluster, WORKERS[0])
    cluster.says(WORKERS[1], r"resumes at step=(?!0\b)[\s\S]*world=2 .* step=")
    why = cluster.machine.traincrew("why", f"pytorchjob/{JOB}").stdout
    cluster.say(f"traincrew why pytorchjob/{JOB}\n{why}")
    assert output in why
    assert f"{WORKERS[0]} hosts the rendezvous" in why
    assert f"RendezvousLost: {WORKERS[0]} hosts the rendezvous and was lost" in why
    status = cluster.ends(f"pytorchjob/{JOB}")["status"]
    first = status.get("failure", status.get("lastFailure"))
    assert first["pod"] == WORKERS[0], "worker 1 ended for want of a meeting point, which is no failure of its own"
    cluster.delete(f"pytorchjob/{JOB}")
