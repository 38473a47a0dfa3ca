"""How `traincrew up` ends: whatever it is told meanwhile, and also where it never began."""

from __future__ import annotations

import json
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.cluster.api import eventually
from tests.embedded.kubelet import leaks
from tests.node.local_cluster import LEVELS, LocalCluster, pod

PAUSE = 0.002
"""Seconds between two signals: an end takes many of them."""


@pytest.fixture(params=LEVELS[:2])
def fresh(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """One that was never up."""
    machine = LocalCluster(request.param)
    try:
        yield machine
    finally:
        machine.close()


def in_the_foreground(machine: LocalCluster) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        machine.command("up", "--isolation", machine.level), env=machine.environment(), cwd=machine.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_who_is_told_again_and_again_to_stop_ends_as_if_told_once(again: signal.Signals) -> None:
    machine = LocalCluster("root")
    try:
        process = in_the_foreground(machine)
        eventually((machine.data / "running.json").exists)
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:
            process.send_signal(again)
            time.sleep(PAUSE)
        assert process.stderr is not None
        assert process.returncode == 0, process.stderr.read()
        process.stderr.close()
    finally:
        machine.close()


def fail_to_start(machine: LocalCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = machine.traincrew("up", "--isolation", machine.level, "--listen", f"127.0.0.1:{port}", check=False)
    assert done.returncode != 0


def test_a_start_that_fails_leaves_nothing_running(fresh: LocalCluster) -> None:
    fail_to_start(fresh)
    assert leaks.found(fresh.data) == []


def test_a_start_that_fails_leaves_the_pods_of_an_earlier_one_their_network(fresh: LocalCluster) -> None:
    fresh.up()
    fresh.create(pod("lasting", "sleep", "600"))
    fresh.running("lasting")
    holder = _holder(fresh)
    fresh.kill()
    fail_to_start(fresh)
    assert _holder(fresh) == holder
    assert pathlib.Path(f"/proc/{holder}").exists()
    fresh.up()
    assert fresh.running("lasting")["status"]["containerStatuses"][0]["restartCount"] == 0


def _holder(machine: LocalCluster) -> int:
    """The process that the network lives in."""
    return int(json.loads((machine.data / "node" / "holder.json").read_text())["pid"])
