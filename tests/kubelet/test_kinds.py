"""Every kind in real containers, in a namespace that enforces PodSecurity `restricted`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.api import eventually
from tests.kubelet.jobs import LIMIT, NAMESPACE, RENDEZVOUS, Jobs, job, replicas

from traincrew import __version__

# Kind, container, leading role with its pod, and the other role.
_KINDS = [
    ("TFJob", "tensorflow", "Chief", "Worker"),
    ("PyTorchJob", "pytorch", "Master", "Worker"),
    ("XGBoostJob", "xgboost", "Master", "Worker"),
    ("PaddleJob", "paddle", "Master", "Worker"),
]


@pytest.mark.parametrize(("kind", "container", "leader", "follower"), _KINDS)
def test_replicas_find_each_other(jobs: Jobs, kind: str, container: str, leader: str, follower: str) -> None:
    name = kind.lower()
    command = ("python3", "-c", RENDEZVOUS, "2")
    jobs.create(job(kind, name, {leader: replicas(1, container, *command), follower: replicas(2, container, *command)}))
    jobs.wait(kind, name, "Succeeded")
    joined = f"joined by {name}-worker-0 {name}-worker-1\n"
    assert jobs.logs(f"{name}-{leader.lower()}-0") == joined
    restarts = [status["restartCount"] for pod in jobs.pods(name) for status in jobs.pod(pod)["status"]["containerStatuses"]]
    assert restarts == [0, 0, 0]


def test_the_processes_of_a_jaxjob_find_each_other(jobs: Jobs) -> None:
    jobs.create(job("JAXJob", "jax", {"Worker": replicas(3, "jax", "python3", "-c", RENDEZVOUS, "2")}))
    jobs.wait("JAXJob", "jax", "Succeeded")
    assert jobs.logs("jax-worker-0") == "joined by jax-worker-1 jax-worker-2\n"


def test_the_init_containers_use_the_operators_image(jobs: Jobs) -> None:
    (status,) = jobs.pod("pytorchjob-worker-0")["status"]["initContainerStatuses"]
    assert status["image"] == f"docker.io/library/traincrew:{__version__}"
    assert status["restartCount"] == 0


_SIDECAR = "trap '{} exit 143' TERM; while true; do sleep 0.2; done"
_ANNOTATIONS = {"sidecar.istio.io/inject": "false", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def test_native_sidecars_do_not_keep_a_finished_job_running(jobs: Jobs) -> None:
    """They never end by themselves, exit with an error when they are stopped, and one of them takes its time."""
    workers = replicas(2, "jax", "python3", "-c", RENDEZVOUS, "1")
    template = workers["template"]
    template["metadata"] = {"annotations": _ANNOTATIONS}
    template["spec"]["terminationGracePeriodSeconds"] = 30
    main = template["spec"]["containers"][0]
    template["spec"]["initContainers"] = [
        {**main, "name": name, "restartPolicy": "Always", "command": ["sh", "-c", _SIDECAR.format(first)]}
        for name, first in (("slow", "sleep 3;"), ("fast", ""))
    ]
    jobs.create(job("JAXJob", "sidecars", {"Worker": workers}))
    jobs.wait("JAXJob", "sidecars", "Succeeded")
    for name in ("sidecars-worker-0", "sidecars-worker-1"):
        pod = jobs.pod(name)
        assert pod["status"]["phase"] == "Succeeded"
        assert {status["state"]["terminated"]["exitCode"] for status in pod["status"]["initContainerStatuses"]} == {143}
        assert _ANNOTATIONS.items() <= pod["metadata"]["annotations"].items()
    events = [event for event in jobs.api.all("events", NAMESPACE) if event["involvedObject"]["name"] == "sidecars"]
    assert [event["reason"] for event in events if event["type"] == "Warning"] == []


def _mpi(name: str, version: str, launcher: tuple[str, ...], worker: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    roles = {"Launcher": replicas(1, "mpi", *launcher), "Worker": replicas(2, "mpi", *worker)}
    if not worker:
        del roles["Worker"]["template"]["spec"]["containers"][0]["command"]
    return job("MPIJob", name, roles, version, slotsPerWorker=1, **spec)


def test_mpirun_reaches_the_workers_of_a_v1_mpijob_by_exec(jobs: Jobs) -> None:
    jobs.create(_mpi("by-exec", "v1", ("mpirun", "-np", "2", "hostname")))
    jobs.wait("MPIJob", "by-exec", "Succeeded")
    said = [line for line in jobs.logs("by-exec-launcher").splitlines() if line.startswith("by-exec-worker")]
    assert sorted(said) == ["by-exec-worker-0", "by-exec-worker-1"]
    assert jobs.pod("by-exec-launcher")["status"]["containerStatuses"][0]["restartCount"] == 0


@pytest.mark.parametrize("number", range(5))
def test_mpirun_reaches_the_workers_of_a_v2beta1_mpijob_by_ssh_at_the_first_attempt(jobs: Jobs, number: int) -> None:
    """Without the wait four of five launchers failed and were started again."""
    name = f"by-ssh-{number}"
    sshd = ("/usr/sbin/sshd", "-De", "-f", "/home/trainer/sshd_config")
    policy = {"cleanPodPolicy": "Running", "backoffLimit": 0}
    spec = {"sshAuthMountPath": "/home/trainer/.ssh", "runPolicy": policy}
    jobs.create(_mpi(name, "v2beta1", ("mpirun", "-np", "2", "hostname"), sshd, **spec))
    jobs.wait("MPIJob", name, "Succeeded")
    assert jobs.api.get("jobs", NAMESPACE, f"{name}-launcher")["status"].get("failed", 0) == 0
    (pod,) = (pod for pod in jobs.pods(name) if "launcher" in pod)
    said = jobs.logs(pod)
    assert sorted(said.split()) == [f"{name}-worker-0", f"{name}-worker-1"], said


# A host without slots makes Horovod read the list again: it is not counted.
_ELASTIC = """seen=""
while true; do
  hosts="$(sh /etc/mpi/discover_hosts.sh | grep -v ':0$' | cut -d: -f1)"
  count="$(echo "$hosts" | wc -w)"
  if [ "$count" != "$seen" ]; then
    for host in $hosts; do /etc/mpi/kubexec.sh "$host" hostname || continue 2; done
    echo "hosts: $count"
    seen="$count"
  fi
  if [ "$seen" = 1 ]; then exit 0; fi
  sleep 0.2
done
# --host-discovery-script"""


def test_an_elastic_launcher_learns_of_two_three_and_one_workers(jobs: Jobs) -> None:
    jobs.create(_mpi("elastic", "v1", ("sh", "-c", _ELASTIC)))

    def learned(count: int) -> None:
        eventually(
            lambda: f"hosts: {count}" in jobs.logs("elastic-launcher"), LIMIT, f"the launcher does not learn of {count} hosts"
        )

    jobs.running("elastic-launcher")
    learned(2)
    for count in (3, 1):
        jobs.node.kubectl("scale", "-n", NAMESPACE, "mpijob/elastic", f"--replicas={count}")
        learned(count)
    jobs.wait("MPIJob", "elastic", "Succeeded")
    found = [line for line in jobs.logs("elastic-launcher").splitlines() if line.startswith("hosts: ")]
    assert found == ["hosts: 2", "hosts: 3", "hosts: 1"]
