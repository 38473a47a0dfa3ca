"""A cluster for the measurements, and the memory of its processes."""

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
from collections.abc import Callable, Iterator
from typing import Any

import requests
import yaml

ROOT = pathlib.Path(__file__).parents[2]
ENTRY = "traincrew.cli.main"
TIMEOUT = 120.0
Object = dict[str, Any]


class BenchCluster:
    """A cluster with a data directory of its own, which can be started and stopped repeatedly."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home, self.data = home, home / "data"
        (home / "config" / "traincrew").mkdir(parents=True)
        # Bytecode is written, as for an installed package.
        self.environment = {
            **os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": os.fspath(ROOT / "src"), "KUBECONFIG": "",
            "TRAINCREW_DATA": os.fspath(self.data), "XDG_CONFIG_HOME": os.fspath(home / "config"), "NO_COLOR": "1",
        }  # fmt: skip
        self.session = requests.Session()
        self.server = ""

    def traincrew(self, *arguments: str, cwd: pathlib.Path | None = None) -> str:
        command = [sys.executable, "-m", ENTRY, *arguments]
        done = subprocess.run(command, env=self.environment, cwd=cwd or self.home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"traincrew {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def up(self, *options: str) -> float:
        """Seconds until the cluster was ready."""
        begun = time.perf_counter()
        self.traincrew("up", "--detach", *options)
        took = time.perf_counter() - begun
        config = yaml.safe_load((self.data / "kubeconfig").read_text())
        self.server = config["clusters"][0]["cluster"]["server"]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = os.fspath(self.data / "pki" / "ca.crt") if (self.data / "pki" / "ca.crt").exists() else False
        self.session.headers["Authorization"] = f"Bearer {config['users'][0]['user']['token']}"
        return took

    def down(self) -> None:
        self.traincrew("down")

    def call(self, verb: str, path: str, body: Object | None = None) -> Object:
        response = self.session.request(verb, f"{self.server}/api/v1/namespaces/default/{path}", json=body, timeout=60)
        response.raise_for_status()
        results: Object = response.json()
        return results

    def pods(self) -> list[Object]:
        items: list[Object] = self.call("GET", "pods")["items"]
        return items

    def log(self, name: str) -> str:
        response = self.session.get(f"{self.server}/api/v1/namespaces/default/pods/{name}/log", timeout=60)
        response.raise_for_status()
        return response.text

    def pid(self) -> int:
        return int(json.loads((self.data / "running.json").read_text())["pid"])

    def shims(self) -> list[int]:
        notes = (self.data / "node" / "pods").glob("*/shim.json")
        return [int(json.loads(note.read_text())["pid"]) for note in notes]


@contextlib.contextmanager
def bench_cluster(parent: pathlib.Path) -> Iterator[BenchCluster]:
    home = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-bench-", dir=parent))
    created = BenchCluster(home)
    try:
        yield created
    finally:
        subprocess.run([sys.executable, "-m", ENTRY, "down"], env=created.environment, cwd=home, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


def pod(name: str, *command: str, **spec: Any) -> Object:
    container = {"name": "main", "image": "example", "command": list(command), **spec.pop("container", {})}
    whole = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}


def until(claim: Callable[[], bool], every: float = 0.02) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not claim():
        if time.monotonic() > deadline:
            raise SystemExit("the cluster did not do what was waited for")
        time.sleep(every)


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def proportional(pid: int) -> float:
    """Proportional set size in MiB."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) / 1024


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    return [pid, *(each for child in children(pid) for each in tree(child))]


def cpu_seconds(pid: int) -> float:
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """MiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")) / 1024
