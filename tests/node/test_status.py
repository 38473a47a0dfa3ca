"""`traincrew status`, `down` with and without pods, and processes of dead clusters in `doctor`."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
from typing import Any

import pytest
from tests.cluster.api import eventually
from tests.node.local_cluster import LocalCluster, pod, terminated

STAYS = ("sh", "-c", "trap 'echo terminating; exit 3' TERM; echo up; while :; do sleep 0.05; done")


def status(cluster: LocalCluster) -> Any:
    return json.loads(cluster.traincrew("status", "-o", "json").stdout)


def test_status_shows_isolation_limits_and_requested_resources(any_cluster: LocalCluster) -> None:
    limits = {"memory": "64Mi"}
    requests = {"cpu": "9", "memory": "64Mi"}
    any_cluster.create(
        pod("taking", *STAYS, resources={"limits": limits, "requests": requests}, automountServiceAccountToken=False),
        pod("ended", "true", automountServiceAccountToken=False),
    )
    any_cluster.running("taking")
    any_cluster.ended("ended")
    shown = status(any_cluster)
    assert shown["node"]["isolation"] == any_cluster.level
    assert shown["node"]["isolated"]["holds"] == (any_cluster.level != "none")
    better = {"root": [], "user": ["root"], "none": ["root", "user"]}[any_cluster.level]
    assert all(
        f"not {each}: --isolation {any_cluster.level} was given" in shown["node"]["isolated"]["message"] for each in better
    )
    assert shown["node"]["egress"]["message"]
    assert shown["node"]["limits"]["message"]
    assert shown["overcommit"] == ["cpu"]
    assert shown["resources"]["cpu"]["requested"] == 9
    assert shown["resources"]["cpu"]["free"] == 0
    memory = shown["resources"]["memory"]
    assert (memory["requested"], memory["free"]) == (64 << 20, memory["capacity"] - (64 << 20))
    assert shown["pods"] == {"Running": 1, "Succeeded": 1}
    text = any_cluster.traincrew("status").stdout
    for line in ("isolation ", "egress ", "limits ", "overcommit ", "cpu ", "memory ", "pods "):
        assert any(each.startswith(line) for each in text.splitlines()), text
    assert "9 requested by pods" in text
    assert "overcommitted" in text


def test_pods_that_are_left_running_are_adopted(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("stays", *STAYS, automountServiceAccountToken=False))
    any_cluster.running("stays")
    assert "Its pods keep running" in any_cluster.traincrew("down", "--leave-pods").stdout
    assert any_cluster.traincrew("status", check=False).returncode == 1
    output = any_cluster.traincrew("doctor").stdout
    if any_cluster.level != "none" or os.geteuid() == 0:
        assert f"of the cluster in {any_cluster.data}, which is not running" in output
        assert f"Run `traincrew down --data {any_cluster.data}` to stop them" in output
    any_cluster.up()
    assert f"of the cluster in {any_cluster.data}, which" not in any_cluster.traincrew("doctor").stdout
    assert any_cluster.pod("stays")["status"]["containerStatuses"][0]["restartCount"] == 0
    eventually(lambda: any_cluster.logs("stays").split() == ["up"])


def test_down_gives_pods_the_requested_grace_period(any_cluster: LocalCluster) -> None:
    slow = "trap 'sleep 0.5; echo over; exit 4' TERM; echo up; while :; do sleep 0.05; done"
    any_cluster.create(pod("slow", "sh", "-c", slow, terminationGracePeriodSeconds=30, automountServiceAccountToken=False))
    any_cluster.running("slow")
    eventually(lambda: "up" in any_cluster.logs("slow"))
    any_cluster.down("--grace", "20")
    any_cluster.up()
    ended = any_cluster.ended("slow")
    assert (terminated(ended)["exitCode"], ended["status"]["reason"]) == (4, "Terminated")
    assert not (any_cluster.data / "grace.json").exists()
    refused = any_cluster.traincrew("down", "--grace", "3", "--leave-pods", check=False)
    assert refused.returncode == 2
    assert "--grace cannot be used with --leave-pods" in refused.stderr


@pytest.fixture
def foreground() -> Any:
    cluster = LocalCluster("root" if os.geteuid() == 0 else "user")
    yield cluster
    cluster.close()


@pytest.mark.parametrize(
    ("number", "message"),
    [(signal.SIGINT, "Stopping the cluster and 1 pod (up to 10 s)"), (signal.SIGUSR1, "1 pod left running")],
)
def test_ctrl_c_says_what_happens_to_the_pods(foreground: LocalCluster, number: signal.Signals, message: str) -> None:
    command = foreground.command("up", "--isolation", foreground.level)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=foreground.environment(), cwd=foreground.home)
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")  # with the link of the console only if its page is built
        assert any("Press Ctrl-C to stop the cluster and its pods" in line for line in lines)
        foreground.create(pod("here", *STAYS, automountServiceAccountToken=False))
        foreground.running("here")
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        assert message in out
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate(timeout=60)
    if number is signal.SIGUSR1:
        foreground.up()


def test_doctor_names_processes_whose_directory_is_gone(foreground: LocalCluster) -> None:
    foreground.up()
    foreground.create(pod("orphan", *STAYS, automountServiceAccountToken=False))
    foreground.running("orphan")
    foreground.traincrew("down", "--leave-pods")
    moved = foreground.home / "moved"
    foreground.data.rename(moved)
    for name in ("cluster.db", "cluster.db.lock"):
        (moved / name).rename(foreground.home / name)
    output = foreground.traincrew("doctor").stdout
    assert f"1 pod and the network of the cluster in {moved}, which is not running" in output
    line = next(
        each
        for each in output.splitlines()
        if "The data directory is gone. Run: kill -9" in each and str(_netns_daemon_pid(moved)) in each
    )
    for pid in line.rpartition("-9")[2].split():
        os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: str(moved) not in foreground.traincrew("doctor").stdout)
    moved.rename(foreground.data)
    for name in ("cluster.db", "cluster.db.lock"):
        (foreground.home / name).rename(foreground.data / name)
    foreground.up()
    assert foreground.ended("orphan")["status"]["phase"] == "Failed"


def _netns_daemon_pid(data: pathlib.Path) -> int:
    return int(json.loads((data / "node" / "netns.json").read_text())["pid"])


def test_logs_of_deleted_pods_are_removed_by_age_and_size() -> None:
    cluster = LocalCluster("root" if os.geteuid() == 0 else "user")
    try:
        cluster.up()
        for name in ("one", "two"):
            cluster.create(pod(name, "sh", "-c", f"echo {name}", automountServiceAccountToken=False))
            cluster.ended(name)
            cluster.api.delete("pods", "default", name)
            cluster.gone(name)
        assert len(list((cluster.data / "logs").iterdir())) == 2
        cluster.down()
        cluster.up("--log-bytes", "1")
        eventually(lambda: not list((cluster.data / "logs").iterdir()))
    finally:
        cluster.close()
