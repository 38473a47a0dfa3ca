"""The API server, the operator process, jobs, and status patches in place of a kubelet."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from tools.kube import cluster

from traincrew.client import kubeconfig, retries
from traincrew.client.remote import RemoteClient
from traincrew.kinds import KINDS
from traincrew.model import resources
from traincrew.model.resources import Resource

ROOT = pathlib.Path(__file__).parents[2]
BY_KIND = {kind.kind: kind.resource for kind in KINDS}
AGENT = "(operator)"
NOW = "2026-01-01T00:00:00Z"


def pytorch(name: str, pods: int = 4) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "train:1", "command": ["python", "/train.py"], "env": [{"name": "A", "value": "b"}]}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": pods - 1, "template": template},
            },
        },
    }


def mpi(name: str, pods: int = 4) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "mpi", "image": "train:1", "command": ["mpirun"]}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "mpiReplicaSpecs": {"Launcher": {"template": template}, "Worker": {"replicas": pods - 1, "template": template}},
        },
    }


def pod_names(job: dict[str, Any], pods: int) -> list[str]:
    name = job["metadata"]["name"]
    leader = f"{name}-launcher" if job["kind"] == "MPIJob" else f"{name}-master-0"
    return [*(f"{name}-worker-{index}" for index in range(pods - 1)), leader]


def client(kube: cluster.Cluster, connections: int = 64, component: str = "bench") -> RemoteClient:
    limits = retries.RetryLimits(in_flight=connections)
    return RemoteClient(kubeconfig.load(os.fspath(kube.kubeconfig)), component=component, limits=limits)


async def post(target: RemoteClient, resource: Resource, namespace: str, body: dict[str, Any]) -> bytes:
    return await target.create(resource, namespace, msgspec.json.encode(body))


async def submit(target: RemoteClient, namespace: str, jobs: list[dict[str, Any]]) -> None:
    await asyncio.gather(*(post(target, BY_KIND[job["kind"]], namespace, job) for job in jobs))


async def make_namespace(target: RemoteClient, name: str) -> None:
    await post(target, resources.NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def phase_patch(phase: str, container: str = "pytorch") -> bytes:
    if phase == "Running":
        state: dict[str, Any] = {"running": {"startedAt": NOW}}
    else:
        code = 0 if phase == "Succeeded" else 1
        state = {"terminated": {"exitCode": code, "reason": "Completed", "startedAt": NOW, "finishedAt": NOW}}
    status = {
        "phase": phase,
        "startTime": NOW,
        "conditions": [{"type": "Ready", "status": "True" if phase == "Running" else "False"}],
        "containerStatuses": [
            {
                "name": container,
                "image": "train:1",
                "imageID": "x",
                "ready": phase == "Running",
                "restartCount": 0,
                "state": state,
            }
        ],
    }
    return msgspec.json.encode({"status": status})


async def set_pod_phase(target: RemoteClient, namespace: str, names: list[str], phase: str) -> None:
    """Patches the phase of pods as a kubelet would, one after the other within a job."""
    body = phase_patch(phase)
    for name in names:
        await target.patch(resources.PODS, namespace, name, body, subresource="status")


async def count(target: RemoteClient, resource: Resource, namespace: str) -> int:
    return sum([len(page.items) async for page in target.pages(resource, namespace)])


async def until_count(target: RemoteClient, resource: Resource, namespace: str, wanted: int) -> None:
    while await count(target, resource, namespace) < wanted:  # noqa: ASYNC110 - a watch would cost the server more
        await asyncio.sleep(0.2)


class OperatorProcess:
    def __init__(self, kube: cluster.Cluster, namespace: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = tempfile.NamedTemporaryFile(prefix="traincrew-bench-", suffix=".log")  # noqa: SIM115
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "traincrew.cli.main", "operator", "--kubeconfig", str(kube.kubeconfig),
                "--namespace", namespace, "--metrics-bind-address", "0",
                "--health-probe-bind-address", f"127.0.0.1:{self.port}",
            ],
            stdout=self.log, stderr=self.log,
        )  # fmt: skip

    async def ready(self) -> None:
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(self.last_log_lines())
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{self.port}/readyz")
                return
            await asyncio.sleep(0.05)

    def last_log_lines(self) -> str:
        return pathlib.Path(self.log.name).read_text()[-2000:]

    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_seconds(self.process.pid)

    def memory(self) -> float:
        """MiB resident now."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.asynccontextmanager
async def running_operator(kube: cluster.Cluster, namespace: str) -> AsyncIterator[OperatorProcess]:
    process = OperatorProcess(kube, namespace)
    try:
        await process.ready()
        yield process
    finally:
        process.stop()


@contextlib.contextmanager
def api_server_with_crds() -> Iterator[cluster.Cluster]:
    """An API server with our CRDs."""
    with cluster.connect() as kube:
        result = kube.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "crds"))
        if result.returncode:
            raise RuntimeError(result.stderr)
        yield kube
