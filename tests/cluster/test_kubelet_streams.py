"""kubectl, current and with SPDY, with our kubelet: behind a real kube-apiserver and behind our tunnel."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import pathlib
import re
import signal
import uuid
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from tests.cluster.api import Api
from tests.embedded.kubelet.server import process_runtime, streaming_apiserver
from tests.embedded.kubelet.server.nodes import TOKEN, Node
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tests.embedded.kubelet.server.stream_clients import wait_until
from tools.kube import build, certificates, cluster, control_plane, embedded

from traincrew.embedded.kubelet.runtime.streaming import ByteReader, ExecOptions
from traincrew.embedded.kubelet.server import server as server_server

BIG = 50_000_000
CONTAINERS = ("main", "side", "gone")
"""Of the pod's specification; the node has no `gone`."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> certificates.Authority:
    return certificates.Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: certificates.Authority) -> Iterator[cluster.Cluster]:
    """An API server of its own: it must know the kubelet's authority, and show a certificate of it."""
    certificate, key = authority.client("kube-apiserver-kubelet-client")
    flags = (
        f"--kubelet-client-certificate={certificate}",
        f"--kubelet-client-key={key}",
        f"--kubelet-certificate-authority={authority.path}",
    )
    with cluster.start(control_plane.Options(flags=flags)) as started:
        yield started


@pytest.fixture(scope="module", params=["1.32", "1.27"])
def program(request: pytest.FixtureRequest) -> pathlib.Path:
    """kubectl: one that opens WebSockets, and one that knows SPDY only."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != build.kube():
            patch.setenv("KUBE", request.param)
            patch.delenv("KUBEBUILDER_ASSETS", raising=False)
        return build.program("kubectl")


class StreamedPod:
    """A pod with the containers `main` and `side`, on a node that is ours."""

    def __init__(self, runtime: ProcessRuntime, namespace: str, program: pathlib.Path, kubeconfig: pathlib.Path) -> None:
        self.runtime, self.namespace = runtime, namespace
        self.main = runtime.containers[namespace, "pod", "main"]
        self._environment = {"KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(kubeconfig.with_name("kubectl-cache"))}
        self._command = [str(program), "--namespace", namespace]

    async def kubectl(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        environment = {**os.environ, **self._environment}
        return await asyncio.create_subprocess_exec(
            *self._command, *arguments, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20
        )

    async def __call__(self, *arguments: str, input: bytes = b"") -> tuple[int, bytes, str]:
        """Exit code, output, complaints."""
        process = await self.kubectl(*arguments)
        async with asyncio.timeout(60):
            output, errors = await process.communicate(input)
        return process.returncode or 0, output, errors.decode()

    async def in_terminal(self, *arguments: str) -> process_runtime.ProcessSession:
        settings = [f"{name}={value}" for name, value in self._environment.items()]
        io = ExecOptions(stdin=True, stdout=True, tty=True)
        return await process_runtime.start(["env", *settings, *self._command, *arguments], io, pathlib.Path.cwd())


@pytest.fixture(scope="module")
def ours() -> Iterator[embedded.EmbeddedCluster]:
    with embedded.start() as started:
        assert isinstance(started, embedded.EmbeddedCluster)
        yield started


@pytest.fixture(params=["kube-apiserver", "tunnel", "embedded API server"])
async def world(
    request: pytest.FixtureRequest, authority: certificates.Authority, program: pathlib.Path, tmp_path: pathlib.Path
) -> AsyncIterator[StreamedPod]:
    namespace = f"test-{uuid.uuid4().hex[:10]}"
    runtime = ProcessRuntime(tmp_path / "containers")
    for name in ("main", "side"):
        runtime.add(namespace, "pod", name)
    certificate, key = authority.server("kubelet")
    trusted = authority.path
    if request.param == "embedded API server":
        kube = request.getfixturevalue("ours")
        (certificate, key), trusted = kube.node_certificate(tmp_path), kube.authority
    context = server_server.tls(str(certificate), str(key), str(trusted))
    callers = server_server.KubeletAuth(TOKEN, names=frozenset({"kube-apiserver-kubelet-client"}))
    async with server_server.serve(server_server.application(runtime, callers), "127.0.0.1", 0, context) as port:
        if request.param == "tunnel":
            async with streaming_apiserver.serve(Node(runtime, port, authority), authority) as serving:
                serving.add(namespace, "pod", *CONTAINERS)
                yield StreamedPod(runtime, namespace, program, serving.kubeconfig(tmp_path / "kubeconfig"))
        else:
            kube = request.getfixturevalue("server" if request.param == "kube-apiserver" else "ours")
            with _registered(Api(kube.kubeconfig), namespace, port):
                yield StreamedPod(runtime, namespace, program, kube.kubeconfig)


@contextlib.contextmanager
def _registered(api: Api, namespace: str, port: int) -> Iterator[None]:
    name = f"node-{namespace}"
    api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    endpoint = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": endpoint}, "application/merge-patch+json")
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    containers = [{"name": each, "image": "x", "stdin": True} for each in CONTAINERS]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"nodeName": name, "containers": containers}}
    api.create(namespace, pod)
    api.patch("pods", namespace, "pod", {"status": {"phase": "Running"}}, sub="status")
    yield
    api.delete("pods", namespace, "pod", grace=0)
    api.call("DELETE", f"/api/v1/namespaces/{namespace}")
    api.call("DELETE", f"/api/v1/nodes/{name}")


async def test_logs_with_every_option(world: StreamedPod) -> None:
    await world.main.write_log("old", at=datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC))
    await world.main.write_log("one", "two")
    world.main.previous = [(datetime.datetime.now(datetime.UTC), b"before\n")]
    await world.runtime.containers[world.namespace, "pod", "side"].write_log("aside")
    for options, expected in (
        ("", "old\none\ntwo\n"),
        ("--tail=1", "two\n"),
        ("--since=1h", "one\ntwo\n"),
        ("--since-time=2024-05-02T00:00:00Z", "one\ntwo\n"),
        ("--limit-bytes=5", "old\no"),
        ("--timestamps --limit-bytes=34", "2024-05-01T10:00:00.000000000Z old"),
        ("--previous", "before\n"),
        ("-c side", "aside\n"),
    ):
        assert (await world("logs", "pod", *options.split()))[:2] == (0, expected.encode())


async def test_following_logs_ends_with_the_container(world: StreamedPod) -> None:
    await world.main.write_log("one")
    process = await world.kubectl("logs", "-f", "pod")
    assert process.stdout
    assert await process.stdout.readline() == b"one\n"
    await world.main.write_log("two")
    assert await process.stdout.readline() == b"two\n"
    await world.main.end()
    assert await process.wait() == 0


async def test_why_there_is_no_log_is_reported(world: StreamedPod) -> None:
    code, _, stderr = await world("logs", "pod", "--previous")
    assert code == 1
    assert stderr.endswith('Error from server (BadRequest): previous terminated container "main" in pod "pod" not found\n')
    world.main.waiting = "ContainerCreating"
    code, _, stderr = await world("logs", "pod", "-c", "main")
    expected = 'Error from server (BadRequest): container "main" in pod "pod" is waiting to start: ContainerCreating\n'
    assert (code, stderr) == (1, expected)


async def test_exec_reports_output_faults_and_exit_code(world: StreamedPod) -> None:
    script = "echo out; echo err >&2; exit 3"
    code, output, stderr = await world("exec", "pod", "-c", "main", "--", "sh", "-c", script)
    assert (code, output) == (3, b"out\n")
    assert stderr == "err\ncommand terminated with exit code 3\n"


async def test_exec_of_what_is_not_there(world: StreamedPod) -> None:
    code, _, stderr = await world("exec", "pod", "-c", "main", "--", "no-such-program")
    assert code == 1
    assert 'error executing command in container: exec: "no-such-program": executable file not found' in stderr
    del world.runtime.containers[world.namespace, "pod", "side"]
    code, _, stderr = await world("exec", "pod", "-c", "side", "--", "true")
    assert code == 1
    assert 'container not found ("side")' in stderr


async def test_fifty_megabytes_through_exec_come_back_unchanged(world: StreamedPod) -> None:
    content = os.urandom(BIG)
    code, output, stderr = await world("exec", "-i", "pod", "-c", "main", "--", "cat", input=content)
    assert (code, stderr) == (0, "")
    assert output == content


async def test_a_command_that_reads_only_the_beginning_ends_well(world: StreamedPod) -> None:
    code, output, _ = await world("exec", "-i", "pod", "-c", "main", "--", "head", "-c", "5", input=b"12345" * 2_000_000)
    assert (code, output) == (0, b"12345")


async def test_a_terminal_takes_on_the_size_of_kubectls(world: StreamedPod) -> None:
    terminal = await world.in_terminal("exec", "-it", "pod", "-c", "main", "--", "sh")
    assert terminal.stdin
    assert terminal.stdout
    terminal.resize(97, 31)
    script = "until [ \"$(stty size)\" = '31 97' ]; do sleep 0.1; done; echo right-$((1+1)); exit 6\n"
    terminal.stdin.write(script.encode())
    output = await _everything(terminal.stdout)
    assert b"right-2" in output
    assert await terminal.wait() == 6


async def _everything(reader: ByteReader) -> bytes:
    content = bytearray()
    async with asyncio.timeout(60):
        while data := await reader.read(1 << 20):
            content += data
    return bytes(content)


async def test_hanging_up_ends_the_command(world: StreamedPod) -> None:
    process = await world.kubectl("exec", "pod", "-c", "main", "--", "sleep", "1000")
    await wait_until(lambda: world.main.sessions)
    process.send_signal(signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    assert await world.main.sessions[0].wait() == 137


async def test_cp_both_ways(world: StreamedPod, tmp_path: pathlib.Path) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    (source / "below").mkdir(parents=True)
    for name in ("a", "below/b"):
        (source / name).write_bytes(os.urandom(3_000_000))
    assert (await world("cp", str(source), "pod:there", "-c", "main"))[0] == 0
    assert (world.main.directory / "there/below/b").read_bytes() == (source / "below/b").read_bytes()
    assert (await world("cp", "pod:there", str(back), "-c", "main"))[0] == 0
    assert {name: (back / name).read_bytes() for name in ("a", "below/b")} == {
        name: (source / name).read_bytes() for name in ("a", "below/b")
    }


async def test_attach_speaks_with_the_main_process(world: StreamedPod) -> None:
    everything = ExecOptions(stdin=True, stdout=True, stderr=True)
    world.main.main = await process_runtime.start(["sh", "-c", "read line; echo got $line"], everything, world.main.directory)
    code, output, _ = await world("attach", "-i", "pod", "-c", "main", input=b"it\n")
    assert (code, output) == (0, b"got it\n")
    assert await world.main.main.wait() == 0


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def _forwarded(world: StreamedPod, port: int) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """The local port."""
    process = await world.kubectl("port-forward", "pod", f":{port}")
    assert process.stdout
    async with asyncio.timeout(60):
        line = (await process.stdout.readline()).decode()
    found = re.match(r"Forwarding from 127.0.0.1:(\d+) -> \d+\n", line)
    assert found, line
    try:
        yield int(found[1]), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _round_trip(port: int, content: bytes) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reading = asyncio.create_task(reader.readexactly(len(content)))
    writer.write(content)
    await writer.drain()
    async with asyncio.timeout(60):
        same = await reading == content
    writer.close()
    return same


async def test_port_forward_carries_many_connections(world: StreamedPod) -> None:
    async with await asyncio.start_server(_echo, "127.0.0.1", 0) as server:
        world.runtime.ports["pod", 80] = server.sockets[0].getsockname()[1]
        async with _forwarded(world, 80) as (port, _):
            contents = [os.urandom(200_000) for _ in range(10)]
            assert all(await asyncio.gather(*(_round_trip(port, content) for content in contents)))
            assert await _round_trip(port, b"and afterwards one more")


async def test_fifty_megabytes_through_a_forwarded_port_come_back_unchanged(world: StreamedPod) -> None:
    async with await asyncio.start_server(_echo, "127.0.0.1", 0) as server:
        world.runtime.ports["pod", 80] = server.sockets[0].getsockname()[1]
        async with _forwarded(world, 80) as (port, _):
            assert await _round_trip(port, os.urandom(BIG))


async def test_a_port_that_nobody_listens_on_is_reported(world: StreamedPod) -> None:
    async with _forwarded(world, 81) as (port, process):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert process.stderr
        async with asyncio.timeout(60):
            stderr = (await process.stderr.readline()).decode()
        assert re.search(r"an error occurred forwarding \d+ -> 81: error forwarding port 81 to pod pod, uid : ", stderr), stderr


PATHS = (
    "pod/log",
    "pod/log?container=main",
    "pod/log?container=main&previous=true",
    "pod/log?container=side",
    "pod/log?container=nobody",
    "pod/log?container=gone",
    "pod/log?container=main&tailLines=x",
    "pod/log?container=main&tailLines=-3&limitBytes=0",
    "pod/log?container=main&sinceTime=yesterday",
    "pod/log?container=main&sinceTime=2024-01-01",
    "pod/log?container=main&sinceTime=2024-13-01T00:00:00Z",
    "pod/log?container=main&sinceTime=2023-02-29T00:00:00Z",
    "pod/log?container=main&sinceTime=2024-02-29T24:00:00Z",
    "pod/log?container=main&sinceTime=2024-02-29T23:60:00Z",
    "pod/log?container=main&sinceTime=2024-02-29T23:00:00",
    "pod/log?container=main&sinceTime=2024-02-29T23:00:00.5Zz",
    "pod/log?container=main&sinceTime=2024-02-29T23:00:00%2B99:00",
    "pod/log?container=main&sinceTime=2024-2-29T23:00:00Z",
    "pod/log?container=main&sinceTime=2024-02-29T3:00:00Z",
    "pod/log?container=main&sinceTime=0000-02-29T23:00:00Z",
    "pod/log?container=main&sinceTime=2024-02-29t23:00:00z",
    "pod/log?container=main&sinceTime=",
    "pod/log?container=main&sinceSeconds=9&sinceTime=2024-01-01T00:00:00Z",
    "pod/log?container=main&stream=Stdout",
    "pod/log?container=main&limitBytes=4&timestamps=0",
    "pod/exec?container=main&command=true&stdout=1",
    "pod/attach?container=nobody",
    "pod/portforward?ports=x",
    "pod/portforward?ports=70000",
)


async def test_our_words_are_those_of_the_api_server(
    server: cluster.Cluster, authority: certificates.Authority, tmp_path: pathlib.Path
) -> None:
    namespace = f"test-{uuid.uuid4().hex[:10]}"
    runtime = ProcessRuntime(tmp_path / "containers")
    await runtime.add(namespace, "pod", "main").write_log("one", "two")
    runtime.add(namespace, "pod", "side").waiting = "PodInitializing"
    certificate, key = authority.server("kubelet")
    context = server_server.tls(str(certificate), str(key), str(authority.path))
    app = server_server.application(runtime, server_server.KubeletAuth(TOKEN))
    real = Api(server.kubeconfig)
    async with server_server.serve(app, "127.0.0.1", 0, context) as port:
        node = Node(runtime, port, authority)
        async with streaming_apiserver.serve(node, authority) as ours:
            ours.add(namespace, "pod", *CONTAINERS)
            with _registered(real, namespace, port):
                for path in PATHS:
                    where = f"/api/v1/namespaces/{namespace}/pods/{path}"
                    theirs = await asyncio.to_thread(real.session.get, real.server + where)
                    async with aiohttp.ClientSession() as session, session.get(ours.url + where, ssl=node.ssl) as answer:
                        assert (path, answer.status, (await answer.text()).strip()) == (
                            path,
                            theirs.status_code,
                            theirs.text.strip(),
                        )
