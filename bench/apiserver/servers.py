"""The two servers that are compared: each a set of processes, a kubeconfig and a directory on the same disk."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tools.kube import cluster, control_plane
from tools.kube.process import Process

START_LIMIT = 60.0
ROOT = pathlib.Path(__file__).parents[2]
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": os.fspath(ROOT)}
"""Bytecode is written, as for an installed package, and the benchmark can be imported."""
ENTRY = "traincrew.cli.main"
API_ONLY = ("--no-operator", "--no-controllers")


class Server(NamedTuple):
    kubeconfig: pathlib.Path
    pids: tuple[int, ...]

    def memory(self) -> float:
        """Resident memory in MiB of all its processes."""
        return sum(_resident(pid) for pid in self.pids)

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return sum(_spent(pid) for pid in self.pids)


def _resident(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")) / 1024


def _spent(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def directory(parent: pathlib.Path) -> Iterator[pathlib.Path]:
    created = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-bench-", dir=parent))
    try:
        yield created
    finally:
        shutil.rmtree(created, ignore_errors=True)


@contextlib.contextmanager
def real(parent: pathlib.Path) -> Iterator[Server]:
    """kube-apiserver and etcd, without an audit log: the embedded one has none by default either."""
    options = control_plane.Options(audit=False, durable=True, parent=parent)
    with cluster.start(options) as kube:
        yield Server(kube.kubeconfig, (kube.pid("kube-apiserver"), kube.pid("etcd")))


@contextlib.contextmanager
def ours(parent: pathlib.Path, flags: Sequence[str] = API_ONLY, module: str = ENTRY) -> Iterator[Server]:
    with directory(parent) as home:
        process = started(home, flags, module)
        try:
            yield Server(home / "data" / "kubeconfig", (process.pid,))
        finally:
            process.kill()


def started(home: pathlib.Path, flags: Sequence[str], module: str = ENTRY) -> Process:
    """Returns when the server is ready."""
    note = home / "data" / "running.json"
    note.unlink(missing_ok=True)
    process = Process(
        "traincrew", [sys.executable, "-m", module, "up", "--no-node", "--data", home / "data", *flags], home, COMPILED
    )
    deadline = time.monotonic() + START_LIMIT
    while not note.exists():
        if not process.alive() or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"traincrew up did not start\n{process.last_lines()}")
        time.sleep(0.005)
    return process


def run_client(side: Server, task: str, *arguments: object) -> dict[str, float]:
    """The results of a client in a process of its own, and the CPU time of the servers."""
    spent = side.cpu()
    module = "bench.apiserver.lag" if task == "busy" else "bench.apiserver.load"
    command = [sys.executable, "-m", module, task, str(side.kubeconfig), *map(json.dumps, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    results: dict[str, float] = json.loads(done.stdout)
    results["server_cpu"] = side.cpu() - spent
    print(
        f"    {task} {' '.join(map(str, arguments))}:",
        ", ".join(f"{key} {value:.4g}" for key, value in results.items()),
        flush=True,
    )
    return results
