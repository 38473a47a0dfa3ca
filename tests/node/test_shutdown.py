"""Shutdown of `traincrew up`: repeated signals, and failed starts."""

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
from tests.embedded.kubelet import leak_detection
from tests.node.local_cluster import LEVELS, LocalCluster, pod

PAUSE = 0.002
"""Seconds between two signals. A shutdown takes many times as long."""


@pytest.fixture(params=LEVELS[:2])
def fresh(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """A cluster that was never started."""
    cluster = LocalCluster(request.param)
    try:
        yield cluster
    finally:
        cluster.close()


def in_the_foreground(cluster: LocalCluster) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        cluster.command("up", "--isolation", cluster.level), env=cluster.environment(), cwd=cluster.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_repeated_stop_signals_have_the_effect_of_one(again: signal.Signals) -> None:
    cluster = LocalCluster("root")
    try:
        process = in_the_foreground(cluster)
        eventually((cluster.data / "running.json").exists)
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:
            process.send_signal(again)
            time.sleep(PAUSE)
        assert process.stderr is not None
        assert process.returncode == 0, process.stderr.read()
        process.stderr.close()
    finally:
        cluster.close()


def fail_to_start(cluster: LocalCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cluster.traincrew("up", "--isolation", cluster.level, "--listen", f"127.0.0.1:{port}", check=False)
    assert done.returncode != 0


def test_a_failed_start_leaves_nothing_running(fresh: LocalCluster) -> None:
    fail_to_start(fresh)
    assert leak_detection.find_leaks(fresh.data) == []


def test_a_failed_start_keeps_the_network_of_adopted_pods(fresh: LocalCluster) -> None:
    fresh.up()
    fresh.create(pod("lasting", "sleep", "600"))
    fresh.running("lasting")
    netns_daemon = _netns_daemon_pid(fresh)
    fresh.kill()
    fail_to_start(fresh)
    assert _netns_daemon_pid(fresh) == netns_daemon
    assert pathlib.Path(f"/proc/{netns_daemon}").exists()
    fresh.up()
    assert fresh.running("lasting")["status"]["containerStatuses"][0]["restartCount"] == 0


def _netns_daemon_pid(cluster: LocalCluster) -> int:
    """The process of the netns daemon."""
    return int(json.loads((cluster.data / "node" / "netns.json").read_text())["pid"])
