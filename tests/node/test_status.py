"""What people see of the cluster: status, its end with and without pods, and what dead clusters leave."""

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

STAYS = ("sh", "-c", "trap 'echo told; exit 3' TERM; echo up; while :; do sleep 0.05; done")


def status(machine: LocalCluster) -> Any:
    return json.loads(machine.traincrew("status", "-o", "json").stdout)


def test_status_tells_abilities_and_what_is_taken(everywhere: LocalCluster) -> None:
    limits = {"memory": "64Mi"}
    requests = {"cpu": "9", "memory": "64Mi"}
    everywhere.create(
        pod("taking", *STAYS, resources={"limits": limits, "requests": requests}, automountServiceAccountToken=False),
        pod("ended", "true", automountServiceAccountToken=False),
    )
    everywhere.running("taking")
    everywhere.ended("ended")
    told = status(everywhere)
    assert told["node"]["isolation"] == everywhere.level
    assert told["node"]["isolated"]["holds"] == (everywhere.level != "none")
    better = {"root": [], "user": ["root"], "none": ["root", "user"]}[everywhere.level]
    assert all(f"not {each}: --isolation {everywhere.level} was given" in told["node"]["isolated"]["message"] for each in better)
    assert told["node"]["egress"]["message"]
    assert told["node"]["limits"]["message"]
    assert told["overcommit"] == ["cpu"]
    assert told["resources"]["cpu"]["requested"] == 9
    assert told["resources"]["cpu"]["free"] == 0
    memory = told["resources"]["memory"]
    assert (memory["requested"], memory["free"]) == (64 << 20, memory["capacity"] - (64 << 20))
    assert told["pods"] == {"Running": 1, "Succeeded": 1}
    text = everywhere.traincrew("status").stdout
    for line in ("isolation ", "egress ", "limits ", "overcommit ", "cpu ", "memory ", "pods "):
        assert any(each.startswith(line) for each in text.splitlines()), text
    assert "9 requested by pods" in text
    assert "overcommitted" in text


def test_pods_may_be_left_running_and_are_taken_over(everywhere: LocalCluster) -> None:
    everywhere.create(pod("stays", *STAYS, automountServiceAccountToken=False))
    everywhere.running("stays")
    assert "Its pods keep running" in everywhere.traincrew("down", "--leave-pods").stdout
    assert everywhere.traincrew("status", check=False).returncode == 1
    found = everywhere.traincrew("doctor").stdout
    if everywhere.level != "none" or os.geteuid() == 0:
        assert f"of the cluster in {everywhere.data}, which is not running" in found
        assert f"then `traincrew down --data {everywhere.data}` to stop them" in found
    everywhere.up()
    assert f"of the cluster in {everywhere.data}, which" not in everywhere.traincrew("doctor").stdout
    assert everywhere.pod("stays")["status"]["containerStatuses"][0]["restartCount"] == 0
    assert everywhere.logs("stays").split() == ["up"]


def test_down_gives_pods_the_time_that_is_asked_for(everywhere: LocalCluster) -> None:
    slow = "trap 'sleep 0.5; echo over; exit 4' TERM; echo up; while :; do sleep 0.05; done"
    everywhere.create(pod("slow", "sh", "-c", slow, terminationGracePeriodSeconds=30, automountServiceAccountToken=False))
    everywhere.running("slow")
    eventually(lambda: "up" in everywhere.logs("slow"))
    everywhere.down("--grace", "20")
    everywhere.up()
    ended = everywhere.ended("slow")
    assert (terminated(ended)["exitCode"], ended["status"]["reason"]) == (4, "Terminated")
    assert not (everywhere.data / "grace.json").exists()
    refused = everywhere.traincrew("down", "--grace", "3", "--leave-pods", check=False)
    assert refused.returncode == 2
    assert "--grace cannot be used with --leave-pods" in refused.stderr


@pytest.fixture
def foreground() -> Any:
    machine = LocalCluster("root" if os.geteuid() == 0 else "user")
    yield machine
    machine.close()


@pytest.mark.parametrize(
    ("number", "told"), [(signal.SIGINT, "Stopping the cluster and 1 pod (up to 10 s)"), (signal.SIGUSR1, "1 pod left running")]
)
def test_ctrl_c_tells_what_becomes_of_pods(foreground: LocalCluster, number: signal.Signals, told: str) -> None:
    command = foreground.command("up", "--isolation", foreground.level)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=foreground.environment(), cwd=foreground.home)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert "Press Ctrl-C to stop the cluster and its pods" in lines[2]
        foreground.create(pod("here", *STAYS, automountServiceAccountToken=False))
        foreground.running("here")
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        assert told in out
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
    found = foreground.traincrew("doctor").stdout
    assert f"1 pod and the network of the cluster in {moved}, which is not running" in found
    line = next(
        each for each in found.splitlines() if "The data directory is gone. Run: kill -9" in each and str(_holder(moved)) in each
    )
    for pid in line.rpartition("-9")[2].split():
        os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: str(moved) not in foreground.traincrew("doctor").stdout)
    moved.rename(foreground.data)
    for name in ("cluster.db", "cluster.db.lock"):
        (foreground.home / name).rename(foreground.data / name)
    foreground.up()
    assert foreground.ended("orphan")["status"]["phase"] == "Failed"


def _holder(data: pathlib.Path) -> int:
    return int(json.loads((data / "node" / "holder.json").read_text())["pid"])


def test_logs_of_pods_that_are_gone_go_by_age_and_size() -> None:
    machine = LocalCluster("root" if os.geteuid() == 0 else "user")
    try:
        machine.up()
        for name in ("one", "two"):
            machine.create(pod(name, "sh", "-c", f"echo {name}", automountServiceAccountToken=False))
            machine.ended(name)
            machine.api.delete("pods", "default", name)
            machine.gone(name)
        assert len(list((machine.data / "logs").iterdir())) == 2
        machine.down()
        machine.up("--log-bytes", "1")
        eventually(lambda: not list((machine.data / "logs").iterdir()))
    finally:
        machine.close()
