"""Which process has a data directory open, though an earlier process left its files."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import subprocess
import sys

from traincrew.embedded.data_directory import DataDirectory


def ended() -> int:
    """The PID of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_cluster_that_has_just_taken_the_lock_is_not_mistaken_for_a_killed_one(tmp_path: pathlib.Path) -> None:
    killed = ended()
    (tmp_path / "running.json").write_text(json.dumps({"pid": killed, "server": "https://127.0.0.1:1"}))
    lock = tmp_path / "cluster.db.lock"
    lock.write_text(str(killed))
    with lock.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert DataDirectory(tmp_path).owner_pid() == -1
        assert DataDirectory(tmp_path).running() is None
        lock.write_text(str(os.getpid()))
        assert DataDirectory(tmp_path).owner_pid() == os.getpid()
        assert DataDirectory(tmp_path).running() is None, "it has not announced itself"
    assert DataDirectory(tmp_path).owner_pid() == 0


def test_down_does_not_mistake_an_unknown_process_for_none(tmp_path: pathlib.Path) -> None:
    lock = tmp_path / "cluster.db.lock"
    lock.write_text(str(ended()))
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "traincrew.cli.main", "down", "--data", str(tmp_path)]
        down = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (down.returncode, down.stdout) == (1, "")
    assert down.stderr.startswith(f"error: cannot stop the cluster: the process that uses {tmp_path} is not known. ")
