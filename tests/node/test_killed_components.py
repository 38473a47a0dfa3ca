"""Killed shims, templates and netns daemons, and reboots: lost pods are disruptions and not failures of their job."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
from functools import partial

import pytest
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet import leak_detection
from tests.node import pod_programs
from tests.node.local_cluster import LocalCluster, pod, terminated

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.network import netns_state
from traincrew.embedded.kubelet.runtime.container import supervisor

REPLICAS = ("master-0", "worker-0", "worker-1")


def start_job(cluster: LocalCluster, name: str) -> None:
    """Starts a job that any failure of a pod would fail, but not a disruption."""
    over = pod_programs.notes_directory(cluster) / "over"
    over.unlink(missing_ok=True)
    cluster.create(pod_programs.pytorch(cluster, name, pod_programs.EXCHANGE, restart="Never", backoffLimit=0))
    wait_for_progress(cluster, name)


def wait_for_progress(cluster: LocalCluster, name: str, times: int = 1) -> None:
    """Waits until every pod of the job was started so many times and has exchanged data since."""
    for pod_name in (f"{name}-{each}" for each in REPLICAS):
        try:
            eventually(partial(_has_stepped, cluster, pod_name, times), 120)
        except AssertionError:
            pytest.fail(_diagnosis(cluster, name))


def _diagnosis(cluster: LocalCluster, name: str) -> str:
    """The status of the job and of its pods, events and the log, for a failure message."""
    job = cluster.api.get("pytorchjobs", "default", name).get("status")
    pods = {each: cluster.api.find("pods", "default", f"{name}-{each}") for each in REPLICAS}
    statuses = [f"{each}: {pod and pod['status']}" for each, pod in pods.items()]
    starts = {each: pod_programs.starts(cluster, f"{name}-{each}") for each in REPLICAS}
    return "\n".join([f"{job}", f"starts: {starts}", *statuses, f"{cluster.events(name)}", cluster.log()])


def _has_stepped(cluster: LocalCluster, name: str, times: int) -> bool:
    return pod_programs.starts(cluster, name) == times and "step 20" in _log(cluster, name)


def shim_pid(cluster: LocalCluster, name: str) -> int:
    uid = cluster.pod(name)["metadata"]["uid"]
    return int(json.loads((cluster.data / "node" / "pods" / uid / "shim.json").read_text())["pid"])


def finish(cluster: LocalCluster, name: str) -> Object:
    (pod_programs.notes_directory(cluster) / "over").touch()
    return pod_programs.wait_for_success(cluster, "pytorchjobs", name)


def assert_disrupted(job: Object, disruptions: int) -> None:
    restarts = job["status"]["restarts"]
    assert (restarts.get("disruptions"), restarts.get("charged", 0)) == (disruptions, 0), restarts
    assert "failure" not in job["status"]


def test_a_killed_shim_disrupts_its_pod_and_the_job_continues(cluster: LocalCluster) -> None:
    start_job(cluster, "shim")
    watched = cluster.pod("shim-worker-0")["metadata"]["uid"]
    os.kill(shim_pid(cluster, "shim-worker-0"), signal.SIGKILL)
    wait_for_progress(cluster, "shim", 2)
    assert cluster.pod("shim-worker-0")["metadata"]["uid"] != watched
    assert_disrupted(finish(cluster, "shim"), 1)


def test_a_pod_whose_shim_was_killed_fails_with_the_reason_sandbox_lost(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("bereft", "sleep", "600"))
    any_cluster.running("bereft")
    os.kill(shim_pid(any_cluster, "bereft"), signal.SIGKILL)
    ended = any_cluster.ended("bereft")
    assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "SandboxLost")
    assert _disruption_reason(ended) == "TerminationByKubelet"
    assert terminated(ended)["reason"] == "ContainerStatusUnknown"
    left = leak_detection.find_leaks(any_cluster.data, ended["metadata"]["uid"])
    assert not [each for each in left if each.startswith("control group") or "shim.sock" in each]


def test_a_pod_that_cannot_be_adopted_at_first_is_adopted_later_and_its_deletion_is_not_missed(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("unreadable", "sleep", "600"))
    directory = any_cluster.data / "node" / "pods" / any_cluster.running("unreadable")["metadata"]["uid"]
    any_cluster.kill()
    lock, moved = directory / "shim.lock", directory / "moved.lock"
    lock.rename(moved)
    lock.mkdir()
    any_cluster.up()
    eventually(lambda: "pod not adopted" in any_cluster.whole_log())
    any_cluster.api.delete("pods", "default", "unreadable", grace=0)
    any_cluster.gone("unreadable")
    lock.rmdir()
    moved.rename(lock)
    eventually(lambda: not directory.exists(), 60)


def test_a_killed_template_is_replaced(any_cluster: LocalCluster) -> None:
    (template,) = children(any_cluster.pid, "shim.template")
    os.kill(template, signal.SIGKILL)
    any_cluster.create(pod("after-template", "true"))
    assert any_cluster.ended("after-template")["status"]["phase"] == "Succeeded"
    (replaced,) = children(any_cluster.pid, "shim.template")
    assert replaced != template


def test_a_killed_netns_daemon_is_replaced_and_connections_of_pods_survive(cluster: LocalCluster) -> None:
    start_job(cluster, "holder")
    steps = len(cluster.logs("holder-worker-1").splitlines())
    os.kill(json.loads((cluster.data / "node" / "netns.json").read_text())["pid"], signal.SIGKILL)
    eventually(lambda: len(cluster.logs("holder-worker-1").splitlines()) > steps + 3, 60)
    script = "import socket; print(socket.getaddrinfo('holder-master-0', 23456)[0][4][0])"
    cluster.create(pod("asks", "python3", "-c", script))
    assert cluster.ended("asks")["status"]["phase"] == "Succeeded", cluster.logs("asks")
    assert cluster.logs("asks").strip() == cluster.pod("holder-master-0")["status"]["podIP"]
    job = finish(cluster, "holder")
    assert "restarts" not in job["status"]


def test_a_reboot_fails_the_pods_and_the_job_continues(cluster: LocalCluster) -> None:
    start_job(cluster, "reboot")
    cluster.create(pod("of-old", "sleep", "600"))
    cluster.running("of-old")
    cluster.kill()
    _reboot(cluster)
    cluster.up()
    lost = cluster.ended("of-old")
    assert (lost["status"]["phase"], lost["status"]["reason"]) == ("Failed", "NodeLost")
    assert _disruption_reason(lost) == "TerminationByKubelet"
    wait_for_progress(cluster, "reboot", 2)
    assert_disrupted(finish(cluster, "reboot"), 1)


def test_down_and_up_disrupts_a_job_and_does_not_count_as_a_failure(cluster: LocalCluster) -> None:
    start_job(cluster, "pause")
    cluster.create(pod("paused", "sleep", "600"))
    cluster.running("paused")
    cluster.down()
    cluster.up()
    ended = cluster.ended("paused")
    assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "Terminated")
    assert _disruption_reason(ended) == "TerminationByKubelet"
    wait_for_progress(cluster, "pause", 2)
    assert_disrupted(finish(cluster, "pause"), 1)


@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode"])
def test_down_does_not_count_as_a_failure_under_other_restart_policies(cluster: LocalCluster, restart: str) -> None:
    name = f"again-{restart.lower()}"
    (pod_programs.notes_directory(cluster) / "over").unlink(missing_ok=True)
    cluster.create(pod_programs.pytorch(cluster, name, pod_programs.EXCHANGE, restart=restart, backoffLimit=0))
    wait_for_progress(cluster, name)
    cluster.down()
    cluster.up()
    wait_for_progress(cluster, name, 2)
    assert_disrupted(finish(cluster, name), 1)


def children(pid: int, word: str) -> list[int]:
    """Child processes with this word on their command line."""
    pids = []
    for each in pathlib.Path("/proc").iterdir():
        try:
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and word in (each / "cmdline").read_text():
                pids.append(int(each.name))
        except (OSError, ValueError):
            continue
    return pids


def _reboot(cluster: LocalCluster) -> None:
    """Simulates a reboot: kills all processes, and changes the recorded boot id."""
    pods = list((cluster.data / "node" / "pods").iterdir())
    notes = [netns_state.read(str(each / "shim.json")) for each in pods]
    shims = [note["pid"] for note in notes if process_identity.is_alive(note)]  # the process id may have been reused
    for pid in shims:
        _freeze(pid)
    for pid in shims:
        os.kill(pid, signal.SIGKILL)
    for each in pods:
        known = json.loads((each / "pod.json").read_text())
        (each / "pod.json").write_text(json.dumps({**known, "boot_id": "another"}))
    os.kill(json.loads((cluster.data / "node" / "netns.json").read_text())["pid"], signal.SIGKILL)


def _freeze(shim: int) -> None:
    """Stops all processes of the shim, so that none reacts to the exit of another."""
    for pid in supervisor.descendants(shim):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def _disruption_reason(pod: Object) -> str:
    conditions = pod["status"].get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "DisruptionTarget"), "")


def _log(cluster: LocalCluster, name: str) -> str:
    """The log of the current pod with that name."""
    uid = cluster.pod(name)["metadata"]["uid"]
    paths = list((cluster.data / "logs").glob(f"default_{name}_{uid}/pytorch/0.log"))
    return paths[0].read_text() if paths else ""
