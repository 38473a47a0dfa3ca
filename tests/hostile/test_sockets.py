"""Hostile clients at each socket of a shim and of the netns daemon: no pod is harmed, and no pod is reported ended that lives."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from tests.cluster.api import consistently, eventually
from tests.embedded.kubelet import leak_detection
from tests.hostile import shims, socket_attacks
from tests.hostile.exec_client import execute
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

from traincrew.embedded.kubelet.images import tools_directory
from traincrew.embedded.kubelet.runtime.client import ticket_exec

ATTACKS = [each.__name__ for each in socket_attacks.ATTACKS]
SCRIPT = pathlib.Path(socket_attacks.__file__).read_text()
MAX_DESCRIPTORS = 400
"""Of a shim or netns daemon under attack: 256 connections, and its own."""
MAX_MEMORY = 256 << 20
MAX_DAEMON_DESCRIPTORS = 4000
"""For the connections of a pod to the API server: 1024, each of which takes three descriptors."""


def lasting(cluster: HostileCluster, name: str) -> str:
    """Starts a pod that writes a line every tenth of a second. Returns its UID."""
    cluster.create(pod(name, "sh", "-c", "while :; do echo line; sleep 0.1; done"))
    return str(cluster.running(name)["metadata"]["uid"])


def assert_unharmed(cluster: HostileCluster, name: str, uid: str) -> None:
    """The pod runs on, its log grows, and commands run in it, through the shim socket and through the exec socket."""
    found = cluster.running(name)
    assert (found["metadata"]["uid"], found["status"]["containerStatuses"][0]["restartCount"]) == (uid, 0)
    lines = len(cluster.logs(name))
    eventually(lambda: len(cluster.logs(name)) > lines)
    assert execute(cluster, name, "echo", "hello") == "hello\n"
    ticket = json.loads(execute(cluster, name, "traincrew-exec-ticket"))
    command = [sys.executable, "-I", "-S", ticket_exec.__file__, str(shims.exec_socket(cluster, name)), "echo", "by ticket"]
    done = subprocess.run(command, env={"TRAINCREW_TICKET": ticket["secret"]}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "by ticket\n"), done.stderr


def attack(cluster: HostileCluster, path: pathlib.Path | str, name: str) -> subprocess.Popen[str]:
    """On the host, as the user who runs the cluster."""
    ids = {} if cluster.user is None else {"user": cluster.user, "group": cluster.user, "extra_groups": []}
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        ["python3", "-c", SCRIPT, str(path), name], stdout=subprocess.PIPE, text=True, cwd="/", **ids
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_a_pod_cannot_harm_another_through_its_exec_socket(cluster: HostileCluster, name: str) -> None:
    uid = lasting(cluster, "victim")
    shim = shims.shim_pid(cluster, "victim")
    path = f"{tools_directory.EXEC_SOCKETS_PATH}/{uid}.sock"
    cluster.create(pod("attacker", "python3", "-c", SCRIPT, path, name))
    eventually(lambda: "attacks" in cluster.logs("attacker"))
    assert_unharmed(cluster, "victim", uid)
    cluster.ended("attacker", within=120)
    assert_unharmed(cluster, "victim", uid)
    assert shims.shim_pid(cluster, "victim") == shim
    assert shims.descriptors(shim) < MAX_DESCRIPTORS
    assert shims.peak_memory(shim) < MAX_MEMORY


def test_a_pod_cannot_block_another_with_sockets_that_linger(cluster: HostileCluster) -> None:
    uid = lasting(cluster, "victim")
    path = f"{tools_directory.EXEC_SOCKETS_PATH}/{uid}.sock"
    cluster.create(pod("attacker", "python3", "-c", SCRIPT, path, "lingering"))
    eventually(lambda: "lingers" in cluster.logs("attacker"))
    assert_unharmed(cluster, "victim", uid)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_of_the_shim_socket_does_not_harm_the_pod(cluster: HostileCluster, name: str) -> None:
    uid = lasting(cluster, "victim")
    shim = shims.shim_pid(cluster, "victim")
    with attack(cluster, shims.shim_directory(cluster, "victim") / "shim.sock", name) as attacker:
        assert_unharmed(cluster, "victim", uid)
        assert attacker.wait(120) == 0
    assert_unharmed(cluster, "victim", uid)
    assert shims.shim_pid(cluster, "victim") == shim
    eventually(lambda: shims.descriptors(shim) < MAX_DESCRIPTORS)
    assert shims.peak_memory(shim) < MAX_MEMORY


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_of_the_netns_daemon_does_not_harm_the_network(cluster: HostileCluster, name: str) -> None:
    uid = lasting(cluster, "victim")
    daemon = int(json.loads((cluster.data / "node/netns.json").read_text())["pid"])
    with attack(cluster, cluster.data / "node/netns.sock", name) as attacker:
        lookup = "import socket; print(socket.gethostbyname('kubernetes.default.svc.cluster.local'))"
        cluster.create(pod("resolver", "python3", "-c", lookup))
        assert cluster.ended("resolver")["status"]["phase"] == "Succeeded", cluster.logs("resolver")
        assert attacker.wait(120) == 0
    assert_unharmed(cluster, "victim", uid)
    assert int(json.loads((cluster.data / "node/netns.json").read_text())["pid"]) == daemon
    eventually(lambda: shims.descriptors(daemon) < MAX_DESCRIPTORS)
    assert shims.peak_memory(daemon) < MAX_MEMORY


def test_a_pod_cannot_exhaust_the_connections_of_others_to_the_api_server(cluster: HostileCluster) -> None:
    before = shims.descriptors(cluster.pid)
    cluster.create(pod("attacker", "python3", "-c", f"{SCRIPT}time.sleep(600)", "kubernetes.default.svc:443", "flood"))
    eventually(lambda: "done" in cluster.logs("attacker"), 120)
    assert shims.descriptors(cluster.pid) - before < MAX_DAEMON_DESCRIPTORS
    connect = "import socket; socket.create_connection(('kubernetes.default.svc', 443)).settimeout(5)"
    cluster.create(pod("other", "python3", "-c", connect))
    assert cluster.ended("other")["status"]["phase"] == "Succeeded", cluster.logs("other")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can break a connection of other processes")
def test_a_pod_whose_shim_lives_is_not_reported_ended_when_its_connection_breaks(fresh: HostileCluster) -> None:
    fresh.up()
    uid = lasting(fresh, "victim")
    fresh.kill()
    fresh.up()
    fresh.running("victim")
    shims.break_connection(fresh.pid, shims.shim_pid(fresh, "victim"))
    consistently(lambda: fresh.pod("victim")["status"]["phase"] == "Running", 3.0)
    assert_unharmed(fresh, "victim", uid)


def test_a_pod_whose_shim_does_not_answer_is_not_reported_ended_and_can_be_deleted(cluster: HostileCluster) -> None:
    lasting(cluster, "stuck")
    os.kill(shims.shim_pid(cluster, "stuck"), signal.SIGSTOP)
    consistently(lambda: cluster.pod("stuck")["status"]["phase"] == "Running", 2.0)
    cluster.api.delete("pods", "default", "stuck", grace=1)
    cluster.gone("stuck", seconds=90)


def test_a_restarted_daemon_waits_for_a_shim_that_does_not_answer(fresh: HostileCluster) -> None:
    fresh.up()
    uids = {name: lasting(fresh, name) for name in ("late", "stuck")}
    for name in uids:
        os.kill(shims.shim_pid(fresh, name), signal.SIGSTOP)
    fresh.kill()
    fresh.up()
    consistently(lambda: all(fresh.pod(name)["status"]["phase"] == "Running" for name in uids), 2.0)
    fresh.api.delete("pods", "default", "stuck", grace=1)
    fresh.gone("stuck", seconds=90)
    os.kill(shims.shim_pid(fresh, "late"), signal.SIGCONT)
    assert_unharmed(fresh, "late", uids["late"])


@pytest.mark.parametrize("shared", [{}, {"hostPID": True}, {"shareProcessNamespace": True}], ids=["own", "host", "pod"])
def test_a_pod_whose_shim_was_killed_is_reported_ended_when_nothing_of_it_lives(
    cluster: HostileCluster, shared: dict[str, bool]
) -> None:
    """Also if the init process of its container cannot clean up, and its processes have daemons."""
    script = "import os, time\nif os.fork(): time.sleep(600)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(600)"
    cluster.create(pod("victim", "python3", "-c", script, **shared))
    cluster.running("victim")
    directory = shims.shim_directory(cluster, "victim")
    os.kill(json.loads((directory / "containers/main/0/init.json").read_text())["pid"], signal.SIGSTOP)
    os.kill(shims.shim_pid(cluster, "victim"), signal.SIGKILL)
    assert cluster.ended("victim")["status"]["reason"] == "SandboxLost"
    assert leak_detection.find_leaks(directory, directory.name) == []


@pytest.mark.parametrize("daemon", ["runs", "was-killed", "stopped"])
def test_down_stops_pods_whose_shim_does_not_answer(fresh: HostileCluster, daemon: str) -> None:
    if (fresh.level, daemon) == ("user", "stopped"):
        pytest.skip("takes a minute, and the level makes no difference")
    fresh.up()
    for name in ("stuck", "sound"):
        lasting(fresh, name)
    os.kill(shims.shim_pid(fresh, "stuck"), signal.SIGSTOP)
    if daemon == "was-killed":
        os.kill(int(json.loads((fresh.data / "node/netns.json").read_text())["pid"]), signal.SIGSTOP)
        fresh.kill()
        assert f"Run `traincrew down --data {fresh.data}` to stop them" in fresh.traincrew("doctor", check=False).stdout
    if daemon == "stopped":
        os.kill(fresh.pid, signal.SIGSTOP)
    fresh.footprint.record()
    fresh.down("--grace", "1")
    left = [each for each in fresh.footprint.of_cluster() if not each.startswith("file ")]
    assert not left, "left behind:\n" + "\n".join(left)
    fresh.up()
    for name in ("stuck", "sound"):
        assert fresh.ended(name)["status"]["reason"] == "Terminated"
