"""`traincrew run` compared with the framework's own launcher. Plain Python replaces a framework that is not built."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import yaml
from tools.frameworks import cache_paths

from bench.node.bench_cluster import ROOT, BenchCluster

WORK = pathlib.Path(__file__).parent / "work"
RANKS = 2


class LauncherPair(NamedTuple):
    name: str
    plain: Callable[[], None]
    """The launcher alone."""
    run: Callable[[], None]


def measured(cluster: BenchCluster, times: int) -> dict[str, dict[str, float]]:
    """Medians in seconds. The first run of each only warms up the disk cache."""
    results: dict[str, dict[str, float]] = {}
    for pair in (_torch(cluster), _mpi(cluster)):
        plain, run = [], []
        for _ in range(times + 1):
            plain.append(_took(pair.plain))
            run.append(_took(pair.run))
            # Not measured: without a cluster there is no job to delete.
            _traincrew(cluster, "delete", "--all", "--wait")
        results[pair.name] = {"plain": statistics.median(plain[1:]), "run": statistics.median(run[1:])}
    return results


def command(cluster: BenchCluster, times: int) -> float:
    """Seconds of the cheapest command with a request: start, one request, exit."""
    return statistics.median(_took(lambda: _traincrew(cluster, "ls")) for _ in range(times))


def _took(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _environment(prefix: str) -> pathlib.Path | None:
    """The environment of the framework, if it has been built."""
    return next(iter(sorted((cache_paths.root()).glob(f"{prefix}-*"))), None)


def prepare(cluster: BenchCluster) -> None:
    """The images of the frameworks, before the cluster starts."""
    images = cache_paths.root() / "images.yaml"
    if images.exists():
        shutil.copy(images, cluster.home / "config" / "traincrew" / "images.yaml")


def _torch(cluster: BenchCluster) -> LauncherPair:
    built = _environment("torch")
    script = os.fspath(WORK / ("reduce.py" if built else "exchange.py"))
    arguments = ["run", "--kind", "PyTorchJob", "--workers", str(RANKS)]
    if built is None:
        plain = [sys.executable, os.fspath(WORK / "ranks.py"), str(RANKS), script]
        return LauncherPair(
            "PyTorchJob, plain Python", lambda: _run(plain, {}), lambda: _traincrew(cluster, *arguments, "--", "python", script)
        )
    launcher = os.fspath(built / "bin" / "torchrun")

    def torchrun() -> None:
        port = str(_free_port())
        _run([launcher, "--nproc-per-node", str(RANKS), "--master-port", port, script], {"OMP_NUM_THREADS": "1"})

    return LauncherPair(
        "PyTorchJob, torchrun",
        torchrun,
        lambda: _traincrew(cluster, *arguments, "--image", "traincrew/torch", "--", "python", script),
    )


def _mpi(cluster: BenchCluster) -> LauncherPair:
    built = _environment("openmpi4")
    job = yaml.safe_load((ROOT / "examples" / "mpi" / "minimal" / "job.yaml").read_text())
    if built is None:
        specs = job["spec"]["mpiReplicaSpecs"]
        launcher = (WORK / "launch.py").read_text()
        specs["Launcher"]["template"]["spec"]["containers"][0]["command"] = ["python3", "-c", launcher]
    file = cluster.home / "mpi.yaml"
    file.write_text(yaml.safe_dump(job))
    run = lambda: _traincrew(cluster, "run", os.fspath(file))  # noqa: E731
    if built is None:
        return LauncherPair("MPIJob, plain Python", lambda: _run([sys.executable, os.fspath(WORK / "launch.py")], {}), run)
    mpirun = [os.fspath(built / "bin" / "mpirun"), "--allow-run-as-root", "--oversubscribe", "-np", str(RANKS), "hostname"]
    return LauncherPair("MPIJob, mpirun", lambda: _run(mpirun, {"OPAL_PREFIX": os.fspath(built)}), run)


def _traincrew(cluster: BenchCluster, *arguments: str) -> None:
    cluster.traincrew(*arguments, cwd=WORK)


def _run(command: list[str], variables: dict[str, str]) -> None:
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False, cwd=WORK)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
