"""What carries pods is killed, or the machine is: pods that are lost by it are disruptions, never a job's own failures."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
from functools import partial

import pytest
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet import leaks
from tests.node import pod_programs
from tests.node.local_cluster import LocalCluster, pod, terminated

from traincrew.embedded.kubelet.network import netns_state
from traincrew.embedded.kubelet.runtime.container import init

CREW = ("master-0", "worker-0", "worker-1")


def exchanging(machine: LocalCluster, name: str) -> None:
    """A job that would fail by the first pod that fails by itself."""
    over = pod_programs.notes_directory(machine) / "over"
    over.unlink(missing_ok=True)
    machine.create(pod_programs.pytorch(machine, name, pod_programs.EXCHANGE, restart="Never", backoffLimit=0))
    at_work(machine, name)


def at_work(machine: LocalCluster, name: str, times: int = 1) -> None:
    """Every pod of the job was started so often and has exchanged something since."""
    for pod_name in (f"{name}-{each}" for each in CREW):
        try:
            eventually(partial(_has_stepped, machine, pod_name, times), 120)
        except AssertionError:
            pytest.fail(_told(machine, name))


def _told(machine: LocalCluster, name: str) -> str:
    """Everything that helps to see why it does not."""
    job = machine.api.get("pytorchjobs", "default", name).get("status")
    pods = {each: machine.api.find("pods", "default", f"{name}-{each}") for each in CREW}
    statuses = [f"{each}: {found and found['status']}" for each, found in pods.items()]
    starts = {each: pod_programs.starts(machine, f"{name}-{each}") for each in CREW}
    return "\n".join([f"{job}", f"starts: {starts}", *statuses, f"{machine.events(name)}", machine.log()])


def _has_stepped(machine: LocalCluster, name: str, times: int) -> bool:
    return pod_programs.starts(machine, name) == times and "step 20" in _log(machine, name)


def shim_of(machine: LocalCluster, name: str) -> int:
    uid = machine.pod(name)["metadata"]["uid"]
    return int(json.loads((machine.data / "node" / "pods" / uid / "shim.json").read_text())["pid"])


def succeeds(machine: LocalCluster, name: str) -> Object:
    (pod_programs.notes_directory(machine) / "over").touch()
    return pod_programs.wait_for_success(machine, "pytorchjobs", name)


def assert_excused(job: Object, disruptions: int) -> None:
    book = job["status"]["restarts"]
    assert (book.get("disruptions"), book.get("charged", 0)) == (disruptions, 0), book
    assert "failure" not in job["status"]


def test_a_killed_shim_ends_its_pod_as_a_disruption_and_the_job_goes_on(machine: LocalCluster) -> None:
    exchanging(machine, "shim")
    watched = machine.pod("shim-worker-0")["metadata"]["uid"]
    os.kill(shim_of(machine, "shim-worker-0"), signal.SIGKILL)
    at_work(machine, "shim", 2)
    assert machine.pod("shim-worker-0")["metadata"]["uid"] != watched
    assert_excused(succeeds(machine, "shim"), 1)


def test_a_pod_whose_shim_was_killed_says_so(everywhere: LocalCluster) -> None:
    everywhere.create(pod("bereft", "sleep", "600"))
    everywhere.running("bereft")
    os.kill(shim_of(everywhere, "bereft"), signal.SIGKILL)
    ended = everywhere.ended("bereft")
    assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "SandboxLost")
    assert _target(ended) == "TerminationByKubelet"
    assert terminated(ended)["reason"] == "ContainerStatusUnknown"
    left = leaks.found(everywhere.data, ended["metadata"]["uid"])
    assert not [each for each in left if each.startswith("control group") or "shim.sock" in each]


def test_a_killed_template_is_replaced(everywhere: LocalCluster) -> None:
    (template,) = children(everywhere.pid, "sandbox.template")
    os.kill(template, signal.SIGKILL)
    everywhere.create(pod("after-template", "true"))
    assert everywhere.ended("after-template")["status"]["phase"] == "Succeeded"
    (replaced,) = children(everywhere.pid, "sandbox.template")
    assert replaced != template


def test_a_killed_holder_is_replaced_and_pods_go_on_talking(machine: LocalCluster) -> None:
    exchanging(machine, "holder")
    steps = len(machine.logs("holder-worker-1").splitlines())
    os.kill(json.loads((machine.data / "node" / "holder.json").read_text())["pid"], signal.SIGKILL)
    eventually(lambda: len(machine.logs("holder-worker-1").splitlines()) > steps + 3, 60)
    script = "import socket; print(socket.getaddrinfo('holder-master-0', 23456)[0][4][0])"
    machine.create(pod("asks", "python3", "-c", script))
    assert machine.ended("asks")["status"]["phase"] == "Succeeded", machine.logs("asks")
    assert machine.logs("asks").strip() == machine.pod("holder-master-0")["status"]["podIP"]
    job = succeeds(machine, "holder")
    assert "restarts" not in job["status"]


def test_pods_of_before_a_reboot_are_lost_with_their_node_and_the_job_goes_on(machine: LocalCluster) -> None:
    exchanging(machine, "reboot")
    machine.create(pod("of-old", "sleep", "600"))
    machine.running("of-old")
    machine.kill()
    _reboot(machine)
    machine.up()
    lost = machine.ended("of-old")
    assert (lost["status"]["phase"], lost["status"]["reason"]) == ("Failed", "NodeLost")
    assert _target(lost) == "TerminationByKubelet"
    at_work(machine, "reboot", 2)
    assert_excused(succeeds(machine, "reboot"), 1)


def test_down_and_up_again_interrupts_a_job_and_charges_it_nothing(machine: LocalCluster) -> None:
    exchanging(machine, "pause")
    machine.create(pod("paused", "sleep", "600"))
    machine.running("paused")
    machine.down()
    machine.up()
    ended = machine.ended("paused")
    assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "Terminated")
    assert _target(ended) == "TerminationByKubelet"
    at_work(machine, "pause", 2)
    assert_excused(succeeds(machine, "pause"), 1)


@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode"])
def test_down_charges_nothing_under_other_policies_either(machine: LocalCluster, restart: str) -> None:
    name = f"again-{restart.lower()}"
    (pod_programs.notes_directory(machine) / "over").unlink(missing_ok=True)
    machine.create(pod_programs.pytorch(machine, name, pod_programs.EXCHANGE, restart=restart, backoffLimit=0))
    at_work(machine, name)
    machine.down()
    machine.up()
    at_work(machine, name, 2)
    assert_excused(succeeds(machine, name), 1)


def children(pid: int, word: str) -> list[int]:
    """Processes that a process has started and that say this on their command line."""
    found = []
    for each in pathlib.Path("/proc").iterdir():
        try:
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and word in (each / "cmdline").read_text():
                found.append(int(each.name))
        except (OSError, ValueError):
            continue
    return found


def _reboot(machine: LocalCluster) -> None:
    """All its processes are gone, and the kernel gives itself another name."""
    pods = list((machine.data / "node" / "pods").iterdir())
    notes = [netns_state.read(str(each / "shim.json")) for each in pods]
    shims = [note["pid"] for note in notes if netns_state.is_alive(note)]  # a number may be somebody else's by now
    for pid in shims:
        _freeze(pid)
    for pid in shims:
        os.kill(pid, signal.SIGKILL)
    for each in pods:
        known = json.loads((each / "pod.json").read_text())
        (each / "pod.json").write_text(json.dumps({**known, "boot_id": "another"}))
    os.kill(json.loads((machine.data / "node" / "holder.json").read_text())["pid"], signal.SIGKILL)


def _freeze(shim: int) -> None:
    """Nobody is left to notice that another is gone, and to end by that."""
    for pid in init.descendants(shim):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def _target(found: Object) -> str:
    conditions = found["status"].get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "DisruptionTarget"), "")


def _log(machine: LocalCluster, name: str) -> str:
    """Of the pod that has the name now."""
    uid = machine.pod(name)["metadata"]["uid"]
    found = list((machine.data / "logs").glob(f"default_{name}_{uid}/pytorch/0.log"))
    return found[0].read_text() if found else ""
