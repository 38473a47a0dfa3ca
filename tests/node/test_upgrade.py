"""A cluster of an earlier release, killed while its pods run, is adopted by this release without loss."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.node import earlier_source, pod_programs
from tests.node.local_cluster import SOURCE, LocalCluster, terminated

from traincrew.embedded import bootstrap
from traincrew.embedded.kubelet.network import former_netns_daemon, netns_state
from traincrew.embedded.kubelet.runtime import isolation, spec
from traincrew.embedded.kubelet.runtime.spec import Isolation

EARLIER = {
    "first-names": "ab89902541801eba72005992cf3bf8ddea0e9151",
    "netns-protocol-1": "1b92d470d6ed9ec39ffd5966371d19d773e7d4f3",
}
"""The last commits before names of files, modules and messages changed."""
FINALIZER = "example.com/kept"
"""Keeps a deleted pod, so that its status can be read."""
LONG = 120.0

COUNTING = (
    pod_programs.PRELUDE
    + """
number = 0
while not over():
    print("line", number, flush=True)
    number += 1
    time.sleep(0.01)
print("lines", number, flush=True)
sys.exit(int(sys.argv[1]))
"""
)
"""Prints numbered lines until all programs are to end."""

ENDS_UNATTENDED = (
    pod_programs.PRELUDE
    + f"""
print("ready", flush=True)
while not os.path.exists({pod_programs.NOTES!r} + "/unattended"):
    time.sleep(0.02)
print("ended", flush=True)
sys.exit(7)
"""
)
"""Exits while no daemon runs."""

LAUNCHER = (
    pod_programs.PRELUDE
    + f"""
attempt = len(open({pod_programs.NOTES!r} + "/starts-" + socket.gethostname()).read())
hosts = [line.split()[0] for line in open("/etc/mpi/hostfile") if line.strip()]
print("attempt", attempt, flush=True)
while not os.path.exists({pod_programs.NOTES!r} + f"/launch-{{attempt}}"):
    time.sleep(0.05)
for host in hosts:
    done = subprocess.run(["/etc/mpi/kubexec.sh", host, "hostname; exit 3"], capture_output=True, text=True)
    print("worker", done.stdout.strip(), done.returncode, flush=True)
    if (done.stdout.strip(), done.returncode) != (host, 3):
        print(done.stderr, flush=True)
        sys.exit(9)
sys.exit(1 if attempt == 1 else 0)
"""
)
"""Runs a command on each worker through kubectl, twice: its first attempt fails, and the container restarts in the same pod."""

LOOKUP = "import socket; print(socket.gethostbyname('ddp-master-0'))"


@dataclasses.dataclass(frozen=True)
class Upgraded:
    cluster: LocalCluster
    before: dict[str, Object]
    """The pods, as they were under the previous release."""
    processes: dict[int, int]
    """Start times of the processes of all pods, by process id, before the upgrade."""


@pytest.fixture(scope="module", params=EARLIER)
def previous(request: pytest.FixtureRequest) -> Iterator[pathlib.Path]:
    """The source tree of the earlier release, readable by every user."""
    with earlier_source.unpacked(EARLIER[request.param], "src") as directory:
        yield directory


@pytest.fixture(scope="module", params=["root", "user"])
def upgraded(request: pytest.FixtureRequest, previous: pathlib.Path) -> Iterator[Upgraded]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "user" and os.geteuid() != 0 and (why := isolation.check(Isolation.USER)):
        pytest.skip(why)
    cluster = LocalCluster(request.param)
    try:
        cluster.source = previous
        cluster.up()
        before = _populate(cluster)
        processes = _pod_processes(cluster)
        cluster.kill()
        (pod_programs.notes_directory(cluster) / "unattended").touch()
        eventually(lambda: list((cluster.data / "node/pods").glob("*/containers/main/0/exit.json")))
        cluster.source = SOURCE
        yield Upgraded(cluster.up(), before, processes)
    finally:
        cluster.close()


def _populate(cluster: LocalCluster) -> dict[str, Object]:
    ending = pod_programs.program(cluster, "ending", pod_programs.LASTING, "43", terminationGracePeriodSeconds=30)
    ending["metadata"]["finalizers"] = [FINALIZER]
    launch = pod_programs.mpi(cluster, "mpi", LAUNCHER)
    launch["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "OnFailure"
    cluster.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"key": "value"}},
        pod_programs.program(cluster, "counting", COUNTING, "5"),
        pod_programs.program(cluster, "unattended", ENDS_UNATTENDED),
        ending,
        pod_programs.pytorch(cluster, "ddp", pod_programs.EXCHANGE),
        launch,
    )
    names = ("counting", "unattended", "ending", "ddp-master-0", "ddp-worker-0", "ddp-worker-1", "mpi-launcher")
    pods = {name: cluster.running(name) for name in names}
    for name, line in (("counting", "line 10"), ("unattended", "ready"), ("ending", "ready"), ("mpi-launcher", "attempt 1")):
        eventually(lambda name=name, line=line: line in cluster.logs(name).splitlines())  # type: ignore[misc]
    return pods


def _pod_processes(cluster: LocalCluster) -> dict[int, int]:
    """Every process below a shim, except those of the pod that ends unattended."""
    shims: list[int] = []
    unattended = cluster.pod("unattended")["metadata"]["uid"]
    for directory in (cluster.data / "node/pods").iterdir():
        if directory.name != unattended:
            shims.append(int(json.loads((directory / "shim.json").read_text())["pid"]))
    start_times = {pid: _start_time(pid) for pid in shims}
    pending = list(shims)
    while pending:
        parent = pending.pop()
        for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
            for child in (task / "children").read_text().split():
                start_times[int(child)] = _start_time(int(child))
                pending.append(int(child))
    return start_times


def _start_time(pid: int) -> int:
    """0: the process does not exist, or it is a zombie."""
    try:
        state, *fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[18]) if state not in "ZX" else 0


def test_the_same_processes_run(upgraded: Upgraded) -> None:
    assert len(upgraded.processes) > 2 * len(upgraded.before)
    assert {pid: _start_time(pid) for pid in upgraded.processes} == upgraded.processes
    for name, before in upgraded.before.items():
        if name != "unattended":
            pod = upgraded.cluster.running(name)
            assert pod["metadata"]["uid"] == before["metadata"]["uid"]
            assert pod["status"]["podIP"] == before["status"]["podIP"]
            assert pod_programs.starts(upgraded.cluster, name) == 1


def test_objects_are_kept(upgraded: Upgraded) -> None:
    assert upgraded.cluster.api.get("configmaps", "default", "kept")["data"] == {"key": "value"}
    _check_bootstrap_record(upgraded.cluster)


def _check_bootstrap_record(cluster: LocalCluster) -> None:
    """The ConfigMap in which a release records the objects that it created at its start has another name now."""
    assert cluster.api.get("configmaps", "kube-system", bootstrap.CONFIG_MAP)["data"]
    assert cluster.api.find("configmaps", "kube-system", bootstrap.FORMER_CONFIG_MAP) is None


def test_an_exit_that_no_daemon_saw_is_reported(upgraded: Upgraded) -> None:
    ended = upgraded.cluster.ended("unattended", within=LONG)
    assert terminated(ended)["exitCode"] == 7
    assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
    assert upgraded.cluster.logs("unattended").splitlines() == ["ready", "ended"]


def test_a_command_runs_in_an_adopted_pod(upgraded: Upgraded) -> None:
    command = ("exec", "ddp", "--replica", "worker-0", "--", "sh", "-c", "hostname; exit 4")
    done = upgraded.cluster.traincrew(*command, check=False)
    assert (done.stdout.split(), done.returncode) == (["ddp-worker-0"], 4), done.stderr


def test_an_adopted_launcher_runs_commands_on_adopted_and_on_new_workers(upgraded: Upgraded) -> None:
    """The first attempt has the tools of the previous release, the second those of this one."""
    cluster = upgraded.cluster
    old = cluster.running("mpi-worker-1")["metadata"]["uid"]
    cluster.api.delete("pods", "default", "mpi-worker-1")
    eventually(lambda: (pod := cluster.api.find("pods", "default", "mpi-worker-1")) and pod["metadata"]["uid"] != old, LONG)
    cluster.running("mpi-worker-1")
    for attempt in (1, 2):
        (pod_programs.notes_directory(cluster) / f"launch-{attempt}").touch()
    pod_programs.wait_for_success(cluster, "mpijobs", "mpi", LONG)
    launcher = cluster.pod("mpi-launcher")
    assert launcher["metadata"]["uid"] == upgraded.before["mpi-launcher"]["metadata"]["uid"]
    assert launcher["status"]["containerStatuses"][0]["restartCount"] == 1
    workers = ["worker mpi-worker-0 3", "worker mpi-worker-1 3"]
    assert cluster.logs("mpi-launcher", previous="true").splitlines() == ["attempt 1", *workers]
    assert cluster.logs("mpi-launcher").splitlines() == ["attempt 2", *workers]


def test_new_pods_reach_adopted_ones_by_name(upgraded: Upgraded) -> None:
    address = upgraded.before["ddp-master-0"]["status"]["podIP"]
    upgraded.cluster.create(pod_programs.program(upgraded.cluster, "new", LOOKUP))
    assert terminated(upgraded.cluster.ended("new"))["exitCode"] == 0
    assert upgraded.cluster.logs("new").split() == [address]


def test_a_netns_daemon_of_the_previous_release_is_replaced_when_it_is_killed(upgraded: Upgraded) -> None:
    """Pods keep their addresses, and files get their present names."""
    node = upgraded.cluster.data / "node"
    os.kill(json.loads((node / former_netns_daemon.RECORD).read_text())["pid"], signal.SIGKILL)
    eventually(lambda: (node / netns_state.RECORD).exists(), LONG)
    assert not [path.name for path in node.iterdir() if path.name.startswith(("holder", "plugs"))]
    addresses = set(json.loads((node / netns_state.ATTACHMENTS).read_text()))
    assert addresses >= {pod["status"]["podIP"] for name, pod in upgraded.before.items() if name.startswith("ddp")}
    upgraded.cluster.create(pod_programs.program(upgraded.cluster, "newer", LOOKUP))
    assert terminated(upgraded.cluster.ended("newer"))["exitCode"] == 0
    assert upgraded.cluster.logs("newer").split() == [upgraded.before["ddp-master-0"]["status"]["podIP"]]


def test_an_adopted_pod_is_deleted_with_its_exit_code(upgraded: Upgraded) -> None:
    cluster = upgraded.cluster
    cluster.api.delete("pods", "default", "ending")
    ended = cluster.ended("ending", within=LONG)
    assert terminated(ended)["exitCode"] == 43
    assert cluster.logs("ending").splitlines() == ["ready", "terminating", "ended"]
    directory = cluster.data / "node/pods" / ended["metadata"]["uid"]
    cluster.api.patch("pods", "default", "ending", {"metadata": {"finalizers": None}})
    cluster.gone("ending")
    eventually(lambda: not directory.exists())
    assert not (cluster.data / "node" / spec.FORMER_EXEC_SOCKETS / f"{directory.name}.sock").exists()


def test_a_job_of_the_previous_release_ends_with_complete_logs(upgraded: Upgraded) -> None:
    cluster = upgraded.cluster
    (pod_programs.notes_directory(cluster) / "over").touch()
    pod_programs.wait_for_success(cluster, "pytorchjobs", "ddp", LONG)
    counted = cluster.ended("counting", within=LONG)
    assert terminated(counted)["exitCode"] == 5
    *lines, last = cluster.logs("counting").splitlines()
    assert lines == [f"line {number}" for number in range(len(lines))]
    assert last == f"lines {len(lines)}"


def test_down_leaves_no_process_and_keeps_the_data(upgraded: Upgraded) -> None:
    cluster = upgraded.cluster
    cluster.down()
    assert not list((cluster.data / "node").glob("*.sock"))
    assert {pid for pid, start in upgraded.processes.items() if _start_time(pid) == start} == set()
    assert (cluster.data / "cluster.db").exists()


def test_a_cluster_that_starts_without_pods_has_the_present_names(upgraded: Upgraded) -> None:
    cluster = upgraded.cluster
    cluster.up()
    cluster.create(pod_programs.program(cluster, "next", pod_programs.LASTING, "0"))
    uid = cluster.running("next")["metadata"]["uid"]
    assert (cluster.data / "node" / spec.EXEC_SOCKETS / f"{uid}.sock").exists()
    assert not (cluster.data / "node" / spec.FORMER_EXEC_SOCKETS).exists()
