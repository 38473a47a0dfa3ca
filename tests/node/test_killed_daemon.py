"""kill -9 of the daemon at fifty moments: training goes on, and nothing of it is lost or done twice."""

from __future__ import annotations

import dataclasses
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
"""A deleted pod stays to be looked at."""
LONG = 120.0


@dataclasses.dataclass(frozen=True)
class Moment:
    during: str
    """starting: a pod is being started; running: it is in the midst of its output; ending: a pod was deleted; adopting: the
    daemon itself is being started again."""
    after: float
    """Seconds."""


def moments(share: int) -> list[Moment]:
    """Every so many of the fifty."""
    spread = {"starting": (18, 0.02), "running": (10, 0.06), "ending": (14, 0.045), "adopting": (8, 0.25)}
    found = [Moment(during, number * step) for during, (count, step) in spread.items() for number in range(count)]
    assert len(found) == 50
    return found[::share]


@dataclasses.dataclass(frozen=True)
class Killed:
    """A machine whose daemon has died so often."""

    machine: LocalCluster
    moments: tuple[Moment, ...]

    def of(self, *during: str) -> list[int]:
        return [number for number, moment in enumerate(self.moments) if moment.during in during]


ALL = ("starting", "running", "ending", "adopting")


@pytest.fixture(scope="module", params=[("root", 1), ("user", 7)], ids=lambda param: str(param[0]))
def killed(request: pytest.FixtureRequest) -> Iterator[Killed]:
    """With two jobs in it that began before the first time."""
    level, share = request.param
    for machine in started(level):
        machine.create(
            pod_programs.pytorch(machine, "ddp", pod_programs.EXCHANGE), pod_programs.mpi(machine, "mpi", pod_programs.LAUNCHER)
        )
        for name in ("ddp-master-0", "ddp-worker-0", "ddp-worker-1", "mpi-launcher"):
            machine.running(name)
        for number, moment in enumerate(moments(share)):
            _die(machine, number, moment)
        (pod_programs.notes_directory(machine) / "over").touch()
        yield Killed(machine, tuple(moments(share)))


def _die(machine: LocalCluster, number: int, moment: Moment) -> None:
    lasting = pod_programs.program(
        machine, f"ending-{number}", pod_programs.LASTING, str(40 + number), terminationGracePeriodSeconds=30
    )
    lasting["metadata"]["finalizers"] = [FINALIZER]
    if moment.during == "ending":
        machine.create(lasting)
        eventually(lambda: "ready" in machine.logs(f"ending-{number}"))
    loud = f"loud-{number}"
    machine.create(pod_programs.program(machine, loud, pod_programs.LOUD, str(number)))
    if moment.during == "running":
        eventually(lambda: "out" in _log(machine, loud))
    if moment.during == "ending":
        machine.api.delete("pods", "default", f"ending-{number}")
    if moment.during != "adopting":
        time.sleep(moment.after)
    machine.kill()
    if moment.during == "adopting":
        _kill_while_it_starts(machine, moment.after)
    machine.up()


def _log(machine: LocalCluster, name: str) -> str:
    found = list((machine.data / "logs").glob(f"default_{name}_*/main/0.log"))
    return found[0].read_text() if found else ""


def _kill_while_it_starts(machine: LocalCluster, after: float) -> None:
    ids: dict[str, Any] = {} if machine.user is None else {"user": machine.user, "group": machine.user, "extra_groups": []}
    daemon = subprocess.Popen(
        machine.command("up", "--isolation", machine.level), env=machine.environment(), cwd=machine.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **ids,
    )  # fmt: skip
    time.sleep(0.5 + after)
    daemon.kill()
    daemon.wait()


def test_no_line_of_a_log_is_lost_or_doubled(killed: Killed) -> None:
    for number in killed.of(*ALL):
        killed.machine.ended(f"loud-{number}", within=LONG)
        lines = killed.machine.logs(f"loud-{number}").splitlines()
        for stream in ("out", "err"):
            said = [line for line in lines if line.startswith(stream)]
            assert said == [f"{stream} {each}" for each in range(pod_programs.LINES)], (number, len(said))
        assert len(lines) == 2 * pod_programs.LINES


def test_no_exit_code_is_lost_and_no_pod_started_twice(killed: Killed) -> None:
    for number in killed.of(*ALL):
        ended = killed.machine.ended(f"loud-{number}", within=LONG)
        assert terminated(ended)["exitCode"] == number
        assert ended["status"]["phase"] == ("Failed" if number else "Succeeded")
        assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
        assert pod_programs.starts(killed.machine, f"loud-{number}") == 1


def test_a_pod_that_is_being_deleted_comes_to_its_end_with_its_exit_code(killed: Killed) -> None:
    for number in killed.of("ending"):
        name = f"ending-{number}"
        ended = killed.machine.ended(name, within=LONG)
        assert terminated(ended)["exitCode"] == 40 + number, (ended, killed.machine.log())
        assert pod_programs.starts(killed.machine, name) == 1
        assert killed.machine.logs(name).splitlines()[-1] == "ended"
        killed.machine.api.patch("pods", "default", name, {"metadata": {"finalizers": None}})
        killed.machine.gone(name)


def test_processes_that_exchange_numbers_never_noticed(killed: Killed) -> None:
    job = pod_programs.wait_for_success(killed.machine, "pytorchjobs", "ddp")
    assert "restarts" not in job["status"]
    pods = ("ddp-master-0", "ddp-worker-0", "ddp-worker-1")
    assert {name: pod_programs.starts(killed.machine, name) for name in pods} == dict.fromkeys(pods, 1)
    for name in pods:
        ended = killed.machine.ended(name)
        assert terminated(ended, "pytorch")["exitCode"] == 0
        assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
        *steps, last = killed.machine.logs(name).splitlines()
        assert steps == [f"step {20 * number}" for number in range(len(steps))]
        assert last.startswith("steps ")


def test_a_launcher_and_its_commands_on_the_workers_never_noticed(killed: Killed) -> None:
    job = pod_programs.wait_for_success(killed.machine, "mpijobs", "mpi")
    assert "restarts" not in job["status"]
    assert pod_programs.starts(killed.machine, "mpi-launcher") == 1
    assert terminated(killed.machine.ended("mpi-launcher"), "mpi")["exitCode"] == 0
