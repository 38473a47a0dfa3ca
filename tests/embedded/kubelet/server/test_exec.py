"""Exec and attach, over SPDY and WebSockets: streams and the final status."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import aiohttp
import pytest
from tests.embedded.kubelet.server import stream_clients
from tests.embedded.kubelet.server.nodes import Node
from tests.embedded.kubelet.server.process_runtime import start as run
from tests.embedded.kubelet.server.stream_clients import ExecClient, query, wait_until

from traincrew.embedded.kubelet.runtime.streaming import ExecOptions
from traincrew.embedded.kubelet.server import spdy_frames

Start = Callable[[str], AbstractAsyncContextManager[ExecClient]]
PATH = "/exec/ns/pod/main?"


@pytest.fixture(params=["spdy", "websocket v5"])
def start(request: pytest.FixtureRequest, node: Node, client: aiohttp.ClientSession) -> Start:
    if request.param == "spdy":
        return lambda query: stream_clients.spdy_exec(node, PATH + query)
    return lambda query: stream_clients.websocket_exec(client, PATH + query)


async def test_output_and_success_are_sent(start: Start) -> None:
    async with start(query("sh", "-c", "echo out; echo err >&2")) as running:
        assert await running.outcome() == 0
    assert running.received["stdout"] == b"out\n"
    assert running.received["stderr"] == b"err\n"
    assert running.status == {"metadata": {}, "status": "Success"}


async def test_an_exit_code_is_reported_as_by_containerd(start: Start) -> None:
    async with start(query("sh", "-c", "exit 3")) as running:
        assert await running.outcome() == 3
    assert running.status == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: error executing command [sh -c exit 3], exit code 3",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_a_signal_is_reported_as_128_plus_its_number(start: Start) -> None:
    async with start(query("sh", "-c", "kill -9 $$")) as running:
        assert await running.outcome() == 137


async def test_a_command_that_cannot_start_is_an_internal_error(start: Start) -> None:
    async with start(query("no-such-program")) as running:
        await running.ended.wait()
    assert running.status["reason"] == "InternalError"
    assert running.status["message"].startswith(
        'Internal error occurred: error executing command in container: exec: "no-such-program"'
    )


async def test_stdin_and_its_end_reach_the_command(start: Start) -> None:
    async with start(query("cat", channels="input output")) as running:
        await running.send("stdin", b"first ")
        await running.send("stdin", b"second")
        await running.close_stdin()
        assert await running.outcome() == 0
    assert running.received["stdout"] == b"first second"


async def test_twenty_megabytes_pass_unchanged_in_both_directions(start: Start) -> None:
    content = os.urandom(20_000_000)
    async with start(query("cat", channels="input output")) as running:
        for at in range(0, len(content), 100_000):
            await running.send("stdin", content[at : at + 100_000])
        await running.close_stdin()
        assert await running.outcome() == 0
    assert running.received["stdout"] == content


async def test_a_command_that_stops_reading_can_still_succeed(start: Start) -> None:
    async with start(query("head", "-c", "5", channels="input output")) as running:
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                await running.send("stdin", b"x" * 100_000)
        assert await running.outcome() == 0
    assert running.received["stdout"] == b"xxxxx"


async def test_a_terminal_can_be_resized(start: Start) -> None:
    async with start(query("sh", channels="input output tty")) as running:
        await running.send("resize", b'{"Width":91,"Height":')
        await running.send("resize", b'17}{"Width":92,"Height":18}\n')
        await running.send("stdin", b"until [ \"$(stty size)\" = '18 92' ]; do sleep 0.1; done; tty; exit 5\n")
        assert await running.outcome() == 5
    assert b"/dev/pts/" in running.received["stdout"]


async def test_the_command_of_a_disconnected_client_is_killed(start: Start, node: Node) -> None:
    async with start(query("sleep", "1000")):
        sessions = node.runtime.containers["ns", "pod", "main"].sessions
        await wait_until(lambda: sessions)
    assert await sessions[0].wait() == 137


async def test_a_disconnect_is_detected_while_input_is_blocked(start: Start, node: Node) -> None:
    async with start(query("sleep", "1000", channels="input output")) as running:
        for _ in range(6):
            await running.send("stdin", b"x" * 100_000)
        sessions = node.runtime.containers["ns", "pod", "main"].sessions
        await wait_until(lambda: sessions and sessions[0].unwritten)
    assert await sessions[0].wait() == 137


async def test_attach_streams_the_main_process_and_ends_with_it(node: Node, client: aiohttp.ClientSession) -> None:
    container = node.runtime.containers["ns", "pod", "main"]
    container.main = await run(
        ["sh", "-c", "read line; echo got $line; exit 7"], ExecOptions(True, True, True), container.directory
    )
    async with stream_clients.spdy_exec(node, "/attach/ns/pod/main?input=1&output=1&error=1") as running:
        await running.send("stdin", b"it\n")
        assert await running.outcome() == 0
    assert running.received["stdout"] == b"got it\n"
    assert await container.main.wait() == 7


async def test_a_container_survives_the_disconnect_of_an_attached_client(node: Node) -> None:
    container = node.runtime.containers["ns", "pod", "main"]
    container.main = await run(["sh", "-c", "echo here; sleep 1000"], ExecOptions(stdout=True), container.directory)
    async with stream_clients.spdy_exec(node, "/attach/ns/pod/main?output=1") as running:
        await wait_until(lambda: running.received["stdout"] == b"here\n")
    await wait_until(lambda: container.attached == 0)
    assert container.main.process.returncode is None
    container.main.close()
    await container.main.wait()


@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"])
async def test_the_other_websocket_protocols_also_send_a_status(client: aiohttp.ClientSession, protocol: str) -> None:
    async with stream_clients.websocket_exec(
        client, PATH + query("head", "-c", "3", channels="input output"), protocol
    ) as running:
        await running.send("stdin", b"\x00\xff\x01\x02")
        assert await running.outcome() == 0
    assert running.received["stdout"] == b"\x00\xff\x01"


@pytest.mark.parametrize("protocol", ["channel.k8s.io", "base64.channel.k8s.io"])
async def test_before_v4_a_failure_is_plain_text_over_websockets(client: aiohttp.ClientSession, protocol: str) -> None:
    async with stream_clients.websocket_exec(client, PATH + query("false"), protocol) as running:
        await running.ended.wait()
    assert running.received["error"].startswith(b"command terminated with non-zero exit code: ")


@pytest.mark.parametrize("protocol", ["channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io"])
async def test_before_v4_a_failure_is_plain_text_over_spdy(node: Node, protocol: str) -> None:
    async with stream_clients.spdy_exec(node, PATH + query("false"), protocol) as running:
        await running.ended.wait()
    assert running.received["error"].startswith(b"command terminated with non-zero exit code: ")
    async with stream_clients.spdy_exec(node, PATH + query("true"), protocol) as running:
        await running.ended.wait()
    assert running.received["error"] == b""


async def test_a_slow_client_applies_back_pressure_to_the_command(node: Node) -> None:
    """Output that the client does not read blocks the command and is not buffered here."""
    directory = node.runtime.containers["ns", "pod", "main"].directory
    (directory / "script").write_text("for i in $(seq 400); do head -c 100000 /dev/zero; echo >>$1; done")
    async with _client_that_does_not_read(node, PATH + query("sh", "script", "stuck", channels="output")):
        await wait_until(lambda: (directory / "stuck").exists())
        async with stream_clients.spdy_exec(node, PATH + query("sh", "script", "read", channels="output")) as running:
            assert await running.outcome() == 0
        assert len(running.received["stdout"]) == 40_000_000
        assert (directory / "stuck").stat().st_size < 100


@contextlib.asynccontextmanager
async def _client_that_does_not_read(node: Node, path: str) -> AsyncIterator[None]:
    """A client that opens its streams and does not read."""
    head, _, writer = await stream_clients.upgrade(node, path, {"X-Stream-Protocol-Version": "v4.channel.k8s.io"})
    assert "101" in head
    assert isinstance(writer.transport, asyncio.Transport)
    writer.transport.pause_reading()
    encoder = spdy_frames.Encoder()
    for id, name in ((1, "error"), (3, "stdout")):
        writer.write(encoder.open(id, {"streamtype": name}))
    yield
    writer.transport.abort()


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/exec/ns/nobody/main?output=1&command=x", 404, "pod does not exist"),
        ("/exec/ns/pod/nobody?output=1&command=x", 500, 'container not found ("nobody")'),
        ("/exec/ns/pod/other-uid/main?output=1&command=x", 404, "pod does not exist"),
        ("/attach/ns/pod/nobody?output=1", 500, "container nobody not found in pod pod_ns"),
        ("/exec/ns/pod/main?command=x", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("/exec/ns/pod/main?command=x&output=1", 400, "unable to upgrade: missing upgrade headers in request"),
        ("/portForward/ns/nobody", 404, "pod does not exist"),
    ],
)
async def test_invalid_requests_are_rejected(client: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    async with client.post(path) as response:
        assert (response.status, await response.text()) == (code, text)


async def test_unknown_protocols_are_rejected_with_the_supported_ones(node: Node) -> None:
    head, _, writer = await stream_clients.upgrade(node, PATH + "output=1", {"X-Stream-Protocol-Version": "v9.channel.k8s.io"})
    writer.close()
    assert head.startswith("HTTP/1.1 403 ")
    assert "X-Accepted-Stream-Protocol-Versions: v4.channel.k8s.io\r\n" in head


async def test_the_path_may_contain_the_uid_of_the_pod(node: Node) -> None:
    async with stream_clients.spdy_exec(node, "/exec/ns/pod/uid-pod/main?" + query("true")) as running:
        assert await running.outcome() == 0


async def test_a_status_is_one_json_object(node: Node) -> None:
    async with stream_clients.spdy_exec(node, PATH + query("true")) as running:
        await running.ended.wait()
    assert json.loads(running.received["error"]) == {"metadata": {}, "status": "Success"}
