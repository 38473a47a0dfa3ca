"""The training script of the demo, as plain processes with the variables of a PyTorchJob."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "demo" / "train.py"


class Ranks:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, rank: int) -> subprocess.Popen[str]:
        env = {
            **os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port), "WORLD_SIZE": "3", "RANK": str(rank),
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), "--steps", "300"], cwd=self.directory, env=env, stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process


@pytest.fixture
def ranks(tmp_path: pathlib.Path) -> Iterator[Ranks]:
    found = Ranks(tmp_path)
    yield found
    for process in found.processes:
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    found = ""
    for line in process.stdout:
        found += line
        if text in line:
            return found
    raise AssertionError(f"{text!r} was not printed: {found}")


@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_and_restarted_rank_continues_from_the_checkpoint(ranks: Ranks, victim: int) -> None:
    started = [ranks.start(rank) for rank in range(3)]
    said = until(started[0], "rank 0 step 100 ")
    started[victim].send_signal(signal.SIGKILL)
    started[victim].wait()
    started[victim] = ranks.start(victim)
    said += until(started[0], "never seen")
    assert re.search(r"to go on from step (100|150|200|250)", said)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert losses[-1] < losses[0] / 2
    assert [process.wait(30) for process in started] == [0, 0, 0]
