"""Ranks of Horovod Elastic whose launcher is gone: they end, and those of the next launcher are alone in their pods."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import installation, operators
from tests.cluster.api import eventually
from tests.node import joined_node, pod_programs
from tests.node.joined_node import JoinedNode

LONG = 120.0
RANK = """
launcher=$(cat {notes}/launcher)
until [ -e {notes}/over ]; do echo $launcher >> {notes}/steps; sleep 0.1; done
"""
LAUNCHER = """
echo $(cut -d' ' -f1 /proc/uptime) > {notes}/launcher
cp {notes}/launcher {notes}/started-$(cat {notes}/launcher)
exec /etc/mpi/kubexec.sh orphans-worker-0 '{rank}'
# horovodrun -np 1 --min-np 1 --max-np 2 --host-discovery-script /etc/mpi/discover_hosts.sh
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    with joined_node.own_control_plane() as kube:
        installation.crds(kube)
        node = JoinedNode(kube)
        try:
            with operators.running(installation.rights(kube)):
                yield node.up()
        finally:
            node.close()


def _started(notes: pathlib.Path) -> list[str]:
    """The launchers, by their times."""
    return sorted((path.name.partition("-")[2] for path in notes.glob("started-*")), key=float)


def _steps(notes: pathlib.Path) -> list[str]:
    return (notes / "steps").read_text().split()


def test_the_ranks_of_a_launcher_that_is_gone_end(machine: JoinedNode) -> None:
    notes = pod_programs.notes_directory(machine)
    job = pod_programs.mpi(machine, "orphans", "", workers=1)
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]
    launcher["restartPolicy"] = "OnFailure"
    rank = RANK.format(notes=pod_programs.NOTES)
    launcher["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", LAUNCHER.format(notes=pod_programs.NOTES, rank=rank)]
    machine.create(job)
    eventually(lambda: _steps(notes) if (notes / "steps").exists() else None, LONG)
    (first,) = _started(notes)
    machine.api.delete("pods", "default", "orphans-launcher", grace=1)
    eventually(lambda: len(_started(notes)) == 2 and _steps(notes)[-1] == _started(notes)[1], LONG)
    steps = _steps(notes)
    assert first not in steps[steps.index(_started(notes)[1]) :], "both launchers have a rank"
    (notes / "over").touch()
    pod_programs.wait_for_success(machine, "mpijobs", "orphans")
    machine.api.delete("mpijobs", "default", "orphans")
