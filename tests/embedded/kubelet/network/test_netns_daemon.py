"""The netns daemon with real namespaces: attached pods stay reachable while kubelets and netns daemons are killed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from tests.embedded.kubelet.network import scenario_runner
from tests.embedded.kubelet.network.network_harness import NetworkHarness, wait_until

from traincrew.embedded.kubelet.network.netns_client import NetnsClient

MANY = 1000
"""Requests. A Unix socket holds about 280."""
LEVEL = pytest.mark.parametrize("level", scenario_runner.LEVELS)
SERVE = """
import socket
server = socket.create_server(({address!r}, 7000))
print("ready", flush=True)
while True:
    peer, _ = server.accept()
    peer.sendall(b"served")
    peer.close()
"""
FETCH = "import socket; print(socket.create_connection(({address!r}, {port}), 10).recv(100).decode())"
ENSURE = """
import asyncio, pathlib, sys
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.runtime.spec import Isolation
async def main():
    netns = await NetnsClient.ensure(pathlib.Path(sys.argv[1]), Isolation(sys.argv[2]))
    kept = await netns.listen("10.96.0.1", 443)
    print(netns.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def _daemon(harness: NetworkHarness) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", ENSURE, str(harness.data), harness.level], stdout=subprocess.PIPE, text=True)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def pods_connect_to_each_other(harness: NetworkHarness) -> None:
    one, other = await harness.pod(5), await harness.pod(6)
    server = one.start(SERVE.format(address=harness.address(5)))
    assert await asyncio.to_thread(_line, server) == "ready"
    assert await other.run(FETCH.format(address=harness.address(5), port=7000)) == "served"
    routes = await other.run("print(open('/proc/net/route').read())")
    assert [line.split()[0] for line in routes.splitlines()[1:]] == ["eth0", "eth0"]
    assert await other.run("import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[0])") == "127.0.0.1"
    assert set(await harness.netns.attached()) == {harness.address(5), harness.address(6)}
    await harness.netns.detach(harness.address(5))
    gone = """
import socket, time
while "eth0" in (names := [name for _, name in socket.if_nameindex()]):
    time.sleep(0.01)
print(names)
"""
    assert "eth0" not in await one.run(gone)
    server.kill()
    server.communicate()


async def accepts_connections_from_outside(harness: NetworkHarness) -> None:
    pod = await harness.pod(5)
    server = pod.start(SERVE.format(address="127.0.0.1"))
    assert await asyncio.to_thread(_line, server) == "ready"
    with pytest.raises(ConnectionRefusedError):
        await harness.netns.connect(harness.address(5), 7000)
    with pytest.raises(OSError, match="no pod has the address"):
        await harness.netns.connect("127.0.0.1", 7000, within=harness.address(77))
    with pytest.raises(OSError) as missed:
        await harness.netns.connect(harness.address(99), 7000, timeout=5)
    assert isinstance(missed.value, TimeoutError) or missed.value.errno == errno.EHOSTUNREACH
    reader, writer = await harness.netns.connect("127.0.0.1", 7000, within=harness.address(5))
    assert await reader.read() == b"served"
    writer.close()
    server.kill()
    server.communicate()


async def rejects_invalid_attachments(harness: NetworkHarness) -> None:
    with pytest.raises(OSError, match="does not have its own network namespace"):
        await harness.netns.attach(harness.netns.pid, harness.address(5))
    with pytest.raises(FileNotFoundError):
        await harness.netns.attach(4_000_000, harness.address(5))
    with pytest.raises(OSError, match="not an IPv4 address"):
        await harness.netns.detach("eth0")
    assert await harness.netns.attached() == {}


async def waits_for_replacement(harness: NetworkHarness) -> None:
    daemon, pod = _daemon(harness), await harness.pod(5)
    assert int(await asyncio.to_thread(_line, daemon)) == harness.netns.pid
    daemon.send_signal(signal.SIGKILL)
    daemon.communicate()
    caller = pod.start(FETCH.format(address="10.96.0.1", port=443))
    listener = await (await harness.ensure()).listen("10.96.0.1", 443)
    peer, _ = await asyncio.get_running_loop().sock_accept(listener)
    peer.send(b"later")
    peer.close()
    listener.close()
    assert (await asyncio.to_thread(caller.communicate))[0].strip() == "later"


async def is_shared_by_concurrent_kubelets(harness: NetworkHarness) -> None:
    await harness.netns.stop()
    daemons = [_daemon(harness) for _ in range(4)]
    message = [await asyncio.to_thread(_line, daemon) for daemon in daemons]
    for daemon in daemons:
        daemon.kill()
        daemon.communicate()
    assert len(set(message)) == 1
    harness.netns = await harness.ensure()
    assert harness.netns.pid == int(message[0])


TALK = """
import socket, sys
sock = socket.create_connection(({address!r}, 7001), 30)
for line in sys.stdin:
    sock.sendall(line.encode())
    print(sock.recv(100).decode().strip(), flush=True)
"""
ECHO = """
import socket
server = socket.create_server(({address!r}, 7001))
print("ready", flush=True)
peer, _ = server.accept()
while data := peer.recv(100):
    peer.sendall(data)
"""


def _read_until(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
    return _line(process)


async def keeps_connections_after_a_kill(harness: NetworkHarness) -> None:
    """A connection between pods continues as after a short loss of the link."""
    one, other = await harness.pod(5), await harness.pod(6)
    server, first = one.start(ECHO.format(address=harness.address(5))), harness.netns.pid
    assert await asyncio.to_thread(_line, server) == "ready"
    caller = other.start(TALK.format(address=harness.address(5)))
    assert await asyncio.to_thread(_read_until, caller, "before") == "before"
    generation = harness.netns.generation
    os.kill(first, signal.SIGKILL)
    assert await harness.netns.wait_for_replacement(generation) == generation + 1
    assert harness.netns.pid != first
    assert await asyncio.to_thread(_read_until, caller, "after") == "after"
    third = await harness.pod(7)
    assert "refused" in await third.run(FETCH.format(address=harness.address(5), port=7777))
    for process in (caller, server):
        process.kill()
        process.communicate()


async def is_killed_before_any_pod(harness: NetworkHarness) -> None:
    """The template has joined the user namespace of the first netns daemon. Its pods must attach to the network of the second."""
    first = harness.starter()
    generation = harness.netns.generation
    os.kill(harness.netns.pid, signal.SIGKILL)
    await harness.netns.wait_for_replacement(generation)
    pod = await harness.pod(5, first)
    assert "eth0" in await pod.run("import socket; print(socket.if_nameindex())")


async def attaches_idempotently(harness: NetworkHarness) -> None:
    """Attaching an attached pod changes nothing, not even the index of its link."""
    pod, look = await harness.pod(5), "import socket; print(socket.if_nameindex())"
    before = await pod.run(look)
    await (await harness.ensure()).attach(pod.pid, harness.address(5))
    assert await pod.run(look) == before
    await harness.netns.detach(harness.address(5))
    await harness.netns.attach(pod.pid, harness.address(5))
    assert "eth0" in await pod.run(look)
    await harness.netns.attach(pod.pid, harness.address(6))
    assert set(await harness.netns.attached()) == {harness.address(6)}


async def ignores_state_of_an_earlier_boot(harness: NetworkHarness) -> None:
    """State of an earlier boot is ignored, even if another process has the recorded id now."""
    await harness.netns.close()
    pid = harness.netns.pid
    os.kill(pid, signal.SIGKILL)
    path = harness.data / "node/netns.json"
    left = {**json.loads(path.read_text()), "boot": "another", "pid": os.getpid(), "subnet": "10.99.0.0/16"}
    path.write_text(json.dumps(left))
    (harness.data / "node/attachments.json").write_text(
        json.dumps({"10.99.0.5": {"pid": os.getpid(), "started": 1, "boot": "another", "mac": ""}})
    )
    harness.netns = await harness.ensure()
    assert harness.netns.pid not in (pid, os.getpid())
    assert harness.netns.subnet == "10.244.0.0/16"
    assert await harness.netns.attached() == {}


async def survives_random_requests(harness: NetworkHarness) -> None:
    for said in (b"\n", b"[]\n", b"{\n", b'{"op":"attach"}\n', b"\xff" * 100_000, b'{"id":1,"op":"fly"}\n'):
        reader, writer = await asyncio.open_unix_connection(str(harness.data / "node/netns.sock"))
        writer.write(said)
        writer.write_eof()
        await reader.read()
        writer.close()
    assert await harness.netns.attached() == {}


async def replies_to_more_requests_than_its_socket_holds(harness: NetworkHarness) -> None:
    """As when many pods stop at once on a busy machine, and the netns daemon gets no processor."""
    os.kill(harness.netns.pid, signal.SIGSTOP)
    requests = [asyncio.create_task(harness.netns.detach(harness.address(number))) for number in range(10, 10 + MANY)]
    await asyncio.sleep(0)  # all are sent, or wait for room
    os.kill(harness.netns.pid, signal.SIGCONT)
    async with asyncio.timeout(30):
        await asyncio.gather(*requests)


async def keeps_the_replies_for_a_slow_client(harness: NetworkHarness) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as slow:
        slow.settimeout(30)
        slow.connect(str(harness.data / "node/netns.sock"))
        slow.sendall(b"".join(b'{"id":%d,"op":"detach","address":"10.244.1.1"}\n' % number for number in range(MANY)))
        for _ in range(4):  # each is a round of its event loop: it accepts, reads and handles the requests
            await harness.netns.attached()
        with slow.makefile("rb") as replies:
            numbers = await asyncio.to_thread(lambda: [json.loads(replies.readline())["id"] for _ in range(MANY)])
    assert numbers == list(range(MANY))


async def stops_without_an_answer(harness: NetworkHarness) -> None:
    """The harness stops the netns daemon, and fails if anything is left."""
    await harness.netns.close()
    os.kill(harness.netns.pid, signal.SIGSTOP)


async def cleans_up_after_a_kill(harness: NetworkHarness) -> None:
    """`down` undoes the changes to the host, even if the netns daemon was killed."""
    await harness.netns.close()
    os.kill(harness.netns.pid, signal.SIGKILL)
    await wait_until(
        lambda: not os.path.exists(f"/proc/{harness.netns.pid}/ns/net") or not os.listdir(f"/proc/{harness.netns.pid}/task")
    )


async def is_replaced_after_sigterm(harness: NetworkHarness) -> None:
    await harness.netns.close()
    os.kill(harness.netns.pid, signal.SIGTERM)
    harness.netns = await NetnsClient.ensure(harness.data, harness.level)
    await harness.netns.close()


@LEVEL
def test_pods_connect_to_each_other_and_to_themselves(level: str) -> None:
    scenario_runner.run_scenario(pods_connect_to_each_other, level)


@LEVEL
def test_a_pod_is_reachable_from_outside_even_on_its_loopback(level: str) -> None:
    scenario_runner.run_scenario(accepts_connections_from_outside, level)


@LEVEL
def test_an_invalid_attachment_is_rejected_with_the_reason(level: str) -> None:
    scenario_runner.run_scenario(rejects_invalid_attachments, level)


@LEVEL
def test_a_request_waits_while_no_netns_daemon_runs(level: str) -> None:
    scenario_runner.run_scenario(waits_for_replacement, level)


@LEVEL
def test_kubelets_that_start_concurrently_share_one_netns_daemon(level: str) -> None:
    scenario_runner.run_scenario(is_shared_by_concurrent_kubelets, level)


@LEVEL
def test_connections_between_pods_survive_a_killed_netns_daemon(level: str) -> None:
    scenario_runner.run_scenario(keeps_connections_after_a_kill, level)


@LEVEL
def test_pods_in_the_user_namespace_of_a_killed_netns_daemon_attach_to_the_next(level: str) -> None:
    scenario_runner.run_scenario(is_killed_before_any_pod, level)


@LEVEL
def test_an_attached_pod_is_not_attached_again(level: str) -> None:
    scenario_runner.run_scenario(attaches_idempotently, level)


@LEVEL
def test_state_of_an_earlier_boot_is_ignored(level: str) -> None:
    scenario_runner.run_scenario(ignores_state_of_an_earlier_boot, level)


@LEVEL
def test_random_requests_do_not_stop_the_netns_daemon(level: str) -> None:
    scenario_runner.run_scenario(survives_random_requests, level)


@LEVEL
def test_every_request_gets_its_reply_if_there_are_more_than_a_socket_holds(level: str) -> None:
    scenario_runner.run_scenario(replies_to_more_requests_than_its_socket_holds, level)


@LEVEL
def test_a_client_that_reads_late_gets_every_reply(level: str) -> None:
    scenario_runner.run_scenario(keeps_the_replies_for_a_slow_client, level)


@LEVEL
def test_a_netns_daemon_that_does_not_answer_is_stopped(level: str) -> None:
    scenario_runner.run_scenario(stops_without_an_answer, level)


@LEVEL
def test_stop_cleans_up_after_a_killed_netns_daemon(level: str) -> None:
    scenario_runner.run_scenario(cleans_up_after_a_kill, level)


@LEVEL
def test_a_terminated_netns_daemon_is_replaced(level: str) -> None:
    scenario_runner.run_scenario(is_replaced_after_sigterm, level)
