"""`kubectl drain` of a node with two of three workers of a ring that needs two: it waits, says so, and goes on afterwards."""

from __future__ import annotations

import pathlib
import shlex

from tests.cluster.api import Object, eventually
from tests.faults import light_jobs
from tests.faults.faulty_cluster import SPOT, STEADY, FaultyCluster
from tests.node import pod_programs

NAMESPACE, JOB = "default", "ring"
LONG = 300.0
MINIMUM, WORKERS = 2, 3
FASTER = 100
"""How much faster the clock of the launcher runs: it waits six seconds in place of ten minutes."""
RANK = """
import os, time
host = os.environ["HOROVOD_HOSTNAME"]
while not os.path.exists("/shared/end") and host in open("/shared/hosts").read().split():
    if not os.path.exists("/shared/waits"):
        with open("/shared/steps-ring", "ab", 0) as steps:
            steps.write(b"x")
    time.sleep(0.2)
"""
LAUNCHER = f"""
import os, shlex, subprocess, sys, time
limit = int(os.environ.get("HOROVOD_ELASTIC_TIMEOUT", "600")) / {FASTER}
ranks, failed = {{}}, set()
def discover():
    lines = subprocess.run(["/etc/mpi/discover_hosts.sh"], capture_output=True, text=True).stdout.split()
    hosts = [host for host, _, slots in (line.rpartition(":") for line in lines) if slots != "0"]
    return [host for host in hosts if host not in failed]
def tell(hosts):
    with open("/shared/hosts.new", "w") as file:
        file.write(" ".join(hosts))
    os.rename("/shared/hosts.new", "/shared/hosts")
def start(host):
    command = "HOROVOD_HOSTNAME=" + host + " python3 -c " + shlex.quote({RANK!r})
    return subprocess.Popen(["/etc/mpi/kubexec.sh", host, command])
def wait():
    began = time.monotonic()
    open("/shared/waits", "w").close()
    while len(hosts := discover()) < {MINIMUM}:
        if any(rank.poll() is not None for rank in ranks.values()):
            sys.exit("a rank ended while the others waited for hosts: the next ring would wait for it")
        if time.monotonic() > began + limit:
            sys.exit("timed out while waiting for the minimum number of slots")
        with open("/shared/waited", "ab", 0) as waited:
            waited.write(b"x")
        time.sleep(1)
    os.unlink("/shared/waits")
    return hosts
while not os.path.exists("/shared/end"):
    ended = {{host for host, rank in ranks.items() if rank.poll() is not None}}
    failed |= ended
    ranks = {{host: rank for host, rank in ranks.items() if host not in ended}}
    hosts = discover()
    hosts = hosts if len(hosts) >= {MINIMUM} else wait()
    tell(hosts)
    for host in [host for host in ranks if host not in hosts]:
        ranks.pop(host).wait()
    for host in hosts:
        if host not in ranks:
            ranks[host] = start(host)
    time.sleep(1)
"""
"""As horovodrun: below its minimum it forms no ring and waits, and a rank that ends meanwhile would spoil the next ring."""


def size(path: pathlib.Path) -> int:
    return path.stat().st_size if path.exists() else 0


def makes_steps(shared: pathlib.Path) -> None:
    before = size(shared / "steps-ring")
    eventually(lambda: size(shared / "steps-ring") > before + 20, LONG)


def places(cluster: FaultyCluster) -> list[str]:
    """The nodes of the running workers."""
    selector = f"training.kubeflow.org/job-name={JOB},training.kubeflow.org/replica-type=worker"
    pods = [pod for pod in cluster.api.all("pods", NAMESPACE, selector) if "deletionTimestamp" not in pod["metadata"]]
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running")


def status(cluster: FaultyCluster) -> Object:
    found: Object = cluster.api.get("mpijobs", NAMESPACE, JOB)["status"]
    return found


def launcher(cluster: FaultyCluster) -> tuple[str, int]:
    """UID and number of restarts."""
    pod = cluster.api.get("pods", NAMESPACE, f"{JOB}-launcher")
    return pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"]


def test_a_drained_ring_below_its_minimum_waits_and_goes_on(cluster: FaultyCluster, shared: pathlib.Path) -> None:
    for node in SPOT:
        cluster.kubectl("cordon", node)
    cluster.api.create(NAMESPACE, light_jobs.other("other", 1))
    eventually(lambda: cluster.api.get("pods", NAMESPACE, "other-worker-0")["status"]["phase"] == "Running", LONG)
    cluster.kubectl("uncordon", SPOT[0])
    cluster.api.create(NAMESPACE, light_jobs.ring(shared, LAUNCHER, WORKERS, (MINIMUM, WORKERS)))
    eventually(lambda: places(cluster) == [SPOT[0], SPOT[0], STEADY], LONG)
    makes_steps(shared)
    before = launcher(cluster)
    drain = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
    cluster.kubectl("drain", SPOT[0], *drain)
    eventually(lambda: size(shared / "waited") > 2 * 600 / FASTER, LONG, because=f"it does not wait:\n{_log(cluster)}")
    waiting = status(cluster)
    assert f"the job waits: 1 of the {MINIMUM} workers that it needs have a node" in waiting["elastic"]["why"]["message"]
    assert "cannot be scheduled" in waiting["why"]["message"]
    cluster.kubectl("uncordon", SPOT[0])
    eventually(lambda: places(cluster) == [SPOT[0], SPOT[0], STEADY], LONG)
    makes_steps(shared)
    assert launcher(cluster) == before, shlex.quote(_log(cluster))
    (shared / "end").touch()
    done = eventually(lambda: pod_programs.condition(cluster.api.get("mpijobs", NAMESPACE, JOB), "Succeeded"), LONG)
    assert done
    restarts = status(cluster)["restarts"]
    assert (restarts.get("charged", 0), restarts["disruptions"] in (1, 2)) == (0, True), restarts
    assert cluster.api.get("mpijobs", NAMESPACE, JOB)["metadata"]["generation"] == 1


def _log(cluster: FaultyCluster) -> str:
    return cluster.kube.kubectl("logs", f"{JOB}-launcher", "--tail=30").stdout
