"""The daemon is killed at fifty moments, in `make test-node` at some: jobs continue, and nothing is lost or done twice."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.api import eventually
from tests.node import pod_programs
from tests.node.conftest import started
from tests.node.local_cluster import LocalCluster, terminated

FINALIZER = "example.com/kept"
"""Keeps a deleted pod, so that its status can be read."""
LONG = 120.0
EVERY_MOMENT = os.environ.get("TRAINCREW_EVERY_MOMENT") == "1"


@dataclasses.dataclass(frozen=True)
class Moment:
    during: str
    """starting: a pod starts; running: a pod writes output; ending: a pod was deleted; adopting: the daemon restarts."""
    after: float
    """Seconds."""


def moments(share: int) -> list[Moment]:
    """Every n-th of the fifty moments, n = share."""
    spread = {"starting": (18, 0.02), "running": (10, 0.06), "ending": (14, 0.045), "adopting": (8, 0.25)}
    every = [Moment(during, number * step) for during, (count, step) in spread.items() for number in range(count)]
    assert len(every) == 50
    return every[::share]


@dataclasses.dataclass(frozen=True)
class Killed:
    """A cluster whose daemon was killed at these moments."""

    cluster: LocalCluster
    moments: tuple[Moment, ...]

    def of(self, *during: str) -> list[int]:
        return [number for number, moment in enumerate(self.moments) if moment.during in during]


ALL = ("starting", "running", "ending", "adopting")


@pytest.fixture(scope="module", params=[("root", 1 if EVERY_MOMENT else 3), ("user", 7)], ids=lambda param: str(param[0]))
def killed(request: pytest.FixtureRequest) -> Iterator[Killed]:
    """Has two jobs that started before the first kill."""
    level, share = request.param
    for cluster in started(level):
        cluster.create(
            pod_programs.pytorch(cluster, "ddp", pod_programs.EXCHANGE), pod_programs.mpi(cluster, "mpi", pod_programs.LAUNCHER)
        )
        for name in ("ddp-master-0", "ddp-worker-0", "ddp-worker-1", "mpi-launcher"):
            cluster.running(name)
        pod_programs.wait_for_remote_commands(cluster, "mpi-worker-0", "mpi-worker-1")
        for number, moment in enumerate(moments(share)):
            _die(cluster, number, moment)
        (pod_programs.notes_directory(cluster) / "over").touch()
        yield Killed(cluster, tuple(moments(share)))


def _die(cluster: LocalCluster, number: int, moment: Moment) -> None:
    lasting = pod_programs.program(
        cluster, f"ending-{number}", pod_programs.LASTING, str(40 + number), terminationGracePeriodSeconds=30
    )
    lasting["metadata"]["finalizers"] = [FINALIZER]
    if moment.during == "ending":
        cluster.create(lasting)
        eventually(lambda: "ready" in cluster.logs(f"ending-{number}"))
    loud = f"loud-{number}"
    cluster.create(pod_programs.program(cluster, loud, pod_programs.LOUD, str(number)))
    if moment.during == "running":
        eventually(lambda: "out" in _log(cluster, loud))
    if moment.during == "ending":
        cluster.api.delete("pods", "default", f"ending-{number}")
    if moment.during != "adopting":
        time.sleep(moment.after)
    cluster.kill()
    if moment.during == "adopting":
        _kill_while_it_starts(cluster, moment.after)
    cluster.up()


def _log(cluster: LocalCluster, name: str) -> str:
    paths = list((cluster.data / "logs").glob(f"default_{name}_*/main/0.log"))
    return paths[0].read_text() if paths else ""


def _kill_while_it_starts(cluster: LocalCluster, after: float) -> None:
    ids: dict[str, Any] = {} if cluster.user is None else {"user": cluster.user, "group": cluster.user, "extra_groups": []}
    daemon = subprocess.Popen(
        cluster.command("up", "--isolation", cluster.level), env=cluster.environment(), cwd=cluster.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **ids,
    )  # fmt: skip
    time.sleep(0.5 + after)
    daemon.kill()
    daemon.wait()


def test_no_line_of_a_log_is_lost_or_doubled(killed: Killed) -> None:
    for number in killed.of(*ALL):
        killed.cluster.ended(f"loud-{number}", within=LONG)
        lines = killed.cluster.logs(f"loud-{number}").splitlines()
        for stream in ("out", "err"):
            written = [line for line in lines if line.startswith(stream)]
            assert written == [f"{stream} {each}" for each in range(pod_programs.LINES)], (number, len(written))
        assert len(lines) == 2 * pod_programs.LINES


def test_no_exit_code_is_lost_and_no_pod_started_twice(killed: Killed) -> None:
    for number in killed.of(*ALL):
        ended = killed.cluster.ended(f"loud-{number}", within=LONG)
        assert terminated(ended)["exitCode"] == number
        assert ended["status"]["phase"] == ("Failed" if number else "Succeeded")
        assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
        assert pod_programs.starts(killed.cluster, f"loud-{number}") == 1


def test_a_terminating_pod_keeps_its_exit_code(killed: Killed) -> None:
    for number in killed.of("ending"):
        name = f"ending-{number}"
        ended = killed.cluster.ended(name, within=LONG)
        assert terminated(ended)["exitCode"] == 40 + number, (ended, killed.cluster.log())
        assert pod_programs.starts(killed.cluster, name) == 1
        assert killed.cluster.logs(name).splitlines()[-1] == "ended"
        killed.cluster.api.patch("pods", "default", name, {"metadata": {"finalizers": None}})
        killed.cluster.gone(name)


def test_the_ranks_of_a_job_are_not_interrupted(killed: Killed) -> None:
    job = pod_programs.wait_for_success(killed.cluster, "pytorchjobs", "ddp")
    assert "restarts" not in job["status"]
    pods = ("ddp-master-0", "ddp-worker-0", "ddp-worker-1")
    assert {name: pod_programs.starts(killed.cluster, name) for name in pods} == dict.fromkeys(pods, 1)
    for name in pods:
        ended = killed.cluster.ended(name)
        assert terminated(ended, "pytorch")["exitCode"] == 0
        assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
        *steps, last = killed.cluster.logs(name).splitlines()
        assert steps == [f"step {20 * number}" for number in range(len(steps))]
        assert last.startswith("steps ")


def test_a_launcher_and_its_commands_on_the_workers_are_not_interrupted(killed: Killed) -> None:
    job = pod_programs.wait_for_success(killed.cluster, "mpijobs", "mpi")
    assert "restarts" not in job["status"]
    assert pod_programs.starts(killed.cluster, "mpi-launcher") == 1
    assert terminated(killed.cluster.ended("mpi-launcher"), "mpi")["exitCode"] == 0
