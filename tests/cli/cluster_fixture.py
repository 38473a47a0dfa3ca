"""A local cluster without a kubelet: tests write the status of pods, and logs and commands come from real processes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pathlib
import ssl
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import yaml
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.embedded.kubelet.server import process_runtime
from tests.embedded.kubelet.server.process_runtime import Container, ProcessRuntime
from tools.kube import issued_certificates

from traincrew.embedded.kubelet.runtime.streaming import ExecOptions
from traincrew.embedded.kubelet.server import server
from traincrew.embedded.pki import certificates

T = TypeVar("T")
COMMAND = [sys.executable, "-m", "traincrew.cli.main"]
TIMEOUT_SECONDS = 60


class Cluster:
    """`traincrew up --no-node`."""

    def __init__(self, data: pathlib.Path) -> None:
        self.data = data

    def up(self) -> None:
        command = [*COMMAND, "up", "--detach", "--no-node", "--data", os.fspath(self.data)]
        started = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert started.returncode == 0, started.stderr

    def down(self) -> None:
        subprocess.run([*COMMAND, "down", "--data", os.fspath(self.data)], capture_output=True, check=True, timeout=120)

    @property
    def api(self) -> Api:
        return Api(self.data / "kubeconfig")

    def environment(self) -> dict[str, str]:
        return {"TRAINCREW_DATA": os.fspath(self.data)}

    def context(self, directory: pathlib.Path) -> ssl.SSLContext:
        """TLS context with which a node of the cluster serves."""
        pki = certificates.ensure(self.data / "pki", ())
        pem = directory / "node.pem"
        pem.write_bytes(issued_certificates.for_node(pki, "node", ["127.0.0.1"]))
        return server.tls(str(pem), str(pem), str(self.data / "pki" / "ca.crt"))


@contextlib.contextmanager
def cluster(data: pathlib.Path) -> Iterator[Cluster]:
    found = Cluster(data)
    found.up()
    try:
        yield found
    finally:
        found.down()


class Running:
    """A running `traincrew` command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return (await self.process.stdout.readline()).decode()

    async def lines(self, count: int) -> list[str]:
        return [await self.line() for _ in range(count)]

    async def wait_for(self, text: str) -> str:
        """Read standard error until it contains the text."""
        assert self.process.stderr is not None
        found = ""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while text not in found:
                piece = await self.process.stderr.readline()
                assert piece, f"{text!r} was not printed: {found}"
                found += piece.decode()
        return found

    async def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of standard output, the rest of standard error."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, out.decode(), err.decode()


class JobCluster:
    def __init__(self, cluster: Cluster, runtime: ProcessRuntime, node: str, namespace: str) -> None:
        self.cluster, self.runtime, self.node, self.namespace = cluster, runtime, node, namespace
        self.api = cluster.api
        self.kubelet = FakeKubelet(self.api, namespace)
        self._restarts: dict[str, int] = {}
        self._begun: list[asyncio.subprocess.Process] = []

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
        return {**kept, **self.cluster.environment(), "COLUMNS": "200"}

    def command(self, *arguments: str) -> list[str]:
        verb, *rest = arguments
        return [*COMMAND, verb, "-n", self.namespace, *rest]

    async def start(self, *arguments: str, cwd: pathlib.Path | None = None) -> Running:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.command(*arguments), env=self.environment(), cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20
        )
        self._begun.append(process)
        return Running(process)

    async def __call__(self, *arguments: str, input: bytes = b"") -> tuple[int, str, str]:
        running = await self.start(*arguments)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            out, err = await running.process.communicate(input)
        return running.process.returncode or 0, out.decode(), err.decode()

    async def in_terminal(self, *arguments: str, variables: dict[str, str] | None = None) -> process_runtime.ProcessSession:
        environment = {**self.environment(), **(variables or {})}
        settings = [f"{name}={value}" for name, value in environment.items() if name != "COLUMNS"]
        io = ExecOptions(stdin=True, stdout=True, tty=True)
        return await process_runtime.start(["env", "TERM=xterm", *settings, *self.command(*arguments)], io, pathlib.Path.cwd())

    async def do(self, function: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Call in a thread, so that the node can respond meanwhile."""
        return await asyncio.to_thread(functools.partial(function, *arguments, **more))

    async def run(self, *pods: str, container: str = "pytorch") -> None:
        """Wait for the pods, bind them to the node and report them as running."""
        for name in pods:
            await self.do(self.kubelet.pod, name)
            if (self.namespace, name, container) not in self.runtime.containers:
                self.runtime.add(self.namespace, name, container)
            await self.do(self.kubelet.bind, name, self.node)
            await self.do(self.kubelet.run, name)

    def container(self, pod: str, container: str = "pytorch") -> Container:
        return self.runtime.containers[self.namespace, pod, container]

    async def write_log(self, pod: str, *texts: str) -> None:
        await self.container(pod).write_log(*texts)

    async def restart(self, pod: str, code: int = 1) -> None:
        """Restart the container: it gets a new log, and the old one is its previous log."""
        old = self.container(pod)
        fresh = Container(old.directory)
        fresh.previous = old.lines
        self.runtime.containers[self.namespace, pod, "pytorch"] = fresh
        self._restarts[pod] = self._restarts.get(pod, 0) + 1
        await self.do(self.kubelet.restart, pod, self._restarts[pod], code)
        await old.end()

    async def succeed(self, *pods: str, log_ends: bool = True) -> None:
        """log_ends=False: the node still serves lines of the log."""
        for pod in pods:
            await self._end(pod, "Succeeded", 0, "", log_ends)

    async def fail(self, pod: str, code: int, message: str = "") -> None:
        await self._end(pod, "Failed", code, message)

    async def _end(self, pod: str, phase: str, code: int, message: str, log_ends: bool = True) -> None:
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message, "finishedAt": now()}
        status = {
            "name": "pytorch",
            "image": "x",
            "imageID": "x",
            "ready": False,
            "lastState": {},
            "state": {"terminated": ended},
        }
        status["restartCount"] = self._restarts.get(pod, 0)
        await self.do(self.kubelet.status, pod, {"phase": phase, "containerStatuses": [status]})
        if log_ends:
            await self.container(pod).end()

    async def delete_pod(self, pod: str) -> None:
        """Delete the pod at once with its log. Its replacement has its own log."""
        old = self.container(pod)
        self.runtime.containers[self.namespace, pod, "pytorch"] = Container(old.directory)
        await self.do(self.kubelet.gone, pod)
        await old.end()

    async def until(self, claim: Callable[[], Any], because: str = "") -> Any:
        return await self.do(eventually, claim, because=because)

    def job(self, name: str = "j", plural: str = "pytorchjobs") -> dict[str, Any] | None:
        return self.api.find(plural, self.namespace, name)

    async def close(self) -> None:
        for process in self._begun:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def job_cluster(cluster: Cluster, directory: pathlib.Path) -> AsyncIterator[JobCluster]:
    name = uuid.uuid4().hex[:10]
    runtime = ProcessRuntime(directory / "containers")
    context = cluster.context(directory)
    callers = server.KubeletAuth(names=frozenset({"kube-apiserver-kubelet-client"}))
    async with server.serve(server.application(runtime, callers), "127.0.0.1", 0, context) as port:
        found = JobCluster(cluster, runtime, f"node-{name}", f"test-{name}")
        await found.do(_register, found.api, found.node, found.namespace, port)
        try:
            yield found
        finally:
            await found.close()
            await found.do(found.api.call, "DELETE", f"/api/v1/nodes/{found.node}")


def _register(api: Api, node: str, namespace: str, port: int) -> None:
    api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    endpoint = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    api.call("PATCH", f"/api/v1/nodes/{node}/status", {"status": endpoint}, "application/merge-patch+json")
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


def write_manifests(directory: pathlib.Path, *documents: dict[str, Any], name: str = "job.yaml") -> str:
    path = directory / name
    path.write_text(yaml.safe_dump_all(documents))
    return os.fspath(path)
