"""The holder with real namespaces: pods plugged in, reached, and kept while daemons and holders are killed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys

import pytest
from tests.embedded.kubelet.network import scenes
from tests.embedded.kubelet.network.stage import Stage, until

from traincrew.embedded.kubelet.network.netns_client import NetnsClient

LEVEL = pytest.mark.parametrize("level", scenes.LEVELS)
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
    holder = await NetnsClient.ensure(pathlib.Path(sys.argv[1]), Isolation(sys.argv[2]))
    kept = await holder.listen("10.96.0.1", 443)
    print(holder.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def _daemon(stage: Stage) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", ENSURE, str(stage.data), stage.level], stdout=subprocess.PIPE, text=True)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def neighbours(stage: Stage) -> None:
    one, other = await stage.pod(5), await stage.pod(6)
    server = one.start(SERVE.format(address=stage.address(5)))
    assert await asyncio.to_thread(_line, server) == "ready"
    assert await other.run(FETCH.format(address=stage.address(5), port=7000)) == "served"
    routes = await other.run("print(open('/proc/net/route').read())")
    assert [line.split()[0] for line in routes.splitlines()[1:]] == ["eth0", "eth0"]
    assert await other.run("import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[0])") == "127.0.0.1"
    assert set(await stage.holder.attached()) == {stage.address(5), stage.address(6)}
    await stage.holder.detach(stage.address(5))
    gone = """
import socket, time
while "eth0" in (names := [name for _, name in socket.if_nameindex()]):
    time.sleep(0.01)
print(names)
"""
    assert "eth0" not in await one.run(gone)
    server.kill()
    server.communicate()


async def reached_from_outside(stage: Stage) -> None:
    pod = await stage.pod(5)
    server = pod.start(SERVE.format(address="127.0.0.1"))
    assert await asyncio.to_thread(_line, server) == "ready"
    with pytest.raises(ConnectionRefusedError):
        await stage.holder.connect(stage.address(5), 7000)
    with pytest.raises(OSError, match="no pod has the address"):
        await stage.holder.connect("127.0.0.1", 7000, within=stage.address(77))
    with pytest.raises(OSError) as missed:
        await stage.holder.connect(stage.address(99), 7000, timeout=5)
    assert isinstance(missed.value, TimeoutError) or missed.value.errno == errno.EHOSTUNREACH
    reader, writer = await stage.holder.connect("127.0.0.1", 7000, within=stage.address(5))
    assert await reader.read() == b"served"
    writer.close()
    server.kill()
    server.communicate()


async def refused_with_words(stage: Stage) -> None:
    with pytest.raises(OSError, match="no network namespace of its own"):
        await stage.holder.attach(stage.holder.pid, stage.address(5))
    with pytest.raises(FileNotFoundError):
        await stage.holder.attach(4_000_000, stage.address(5))
    with pytest.raises(OSError, match="not an IPv4 address"):
        await stage.holder.detach("eth0")
    assert await stage.holder.attached() == {}


async def waits_for_the_next_daemon(stage: Stage) -> None:
    daemon, pod = _daemon(stage), await stage.pod(5)
    assert int(await asyncio.to_thread(_line, daemon)) == stage.holder.pid
    daemon.send_signal(signal.SIGKILL)
    daemon.communicate()
    caller = pod.start(FETCH.format(address="10.96.0.1", port=443))
    listener = await (await stage.ensure()).listen("10.96.0.1", 443)
    peer, _ = await asyncio.get_running_loop().sock_accept(listener)
    peer.send(b"later")
    peer.close()
    listener.close()
    assert (await asyncio.to_thread(caller.communicate))[0].strip() == "later"


async def one_for_many_daemons(stage: Stage) -> None:
    await stage.holder.stop()
    daemons = [_daemon(stage) for _ in range(4)]
    message = [await asyncio.to_thread(_line, daemon) for daemon in daemons]
    for daemon in daemons:
        daemon.kill()
        daemon.communicate()
    assert len(set(message)) == 1
    stage.holder = await stage.ensure()
    assert stage.holder.pid == int(message[0])


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


def _said(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
    return _line(process)


async def killed(stage: Stage) -> None:
    """A connection between pods goes on as if a cable had been pulled and put back."""
    one, other = await stage.pod(5), await stage.pod(6)
    server, first = one.start(ECHO.format(address=stage.address(5))), stage.holder.pid
    assert await asyncio.to_thread(_line, server) == "ready"
    caller = other.start(TALK.format(address=stage.address(5)))
    assert await asyncio.to_thread(_said, caller, "before") == "before"
    generation = stage.holder.generation
    os.kill(first, signal.SIGKILL)
    assert await stage.holder.wait_for_replacement(generation) == generation + 1
    assert stage.holder.pid != first
    assert await asyncio.to_thread(_said, caller, "after") == "after"
    third = await stage.pod(7)
    assert "refused" in await third.run(FETCH.format(address=stage.address(5), port=7777))
    for process in (caller, server):
        process.kill()
        process.communicate()


async def killed_before_any_pod(stage: Stage) -> None:
    """What starts pods has joined the first holder's user namespace: its pods must fit into the second one's network."""
    first = stage.starter()
    generation = stage.holder.generation
    os.kill(stage.holder.pid, signal.SIGKILL)
    await stage.holder.wait_for_replacement(generation)
    pod = await stage.pod(5, first)
    assert "eth0" in await pod.run("import socket; print(socket.if_nameindex())")


async def found_again(stage: Stage) -> None:
    """Plugging in what is plugged in already changes nothing, not even the link's number."""
    pod, look = await stage.pod(5), "import socket; print(socket.if_nameindex())"
    before = await pod.run(look)
    await (await stage.ensure()).attach(pod.pid, stage.address(5))
    assert await pod.run(look) == before
    await stage.holder.detach(stage.address(5))
    await stage.holder.attach(pod.pid, stage.address(5))
    assert "eth0" in await pod.run(look)
    await stage.holder.attach(pod.pid, stage.address(6))
    assert set(await stage.holder.attached()) == {stage.address(6)}


async def another_boot(stage: Stage) -> None:
    """What a holder of before wrote is nobody's, whatever process has its number now."""
    await stage.holder.close()
    pid = stage.holder.pid
    os.kill(pid, signal.SIGKILL)
    path = stage.data / "node/holder.json"
    left = {**json.loads(path.read_text()), "boot": "another", "pid": os.getpid(), "subnet": "10.99.0.0/16"}
    path.write_text(json.dumps(left))
    (stage.data / "node/plugs.json").write_text(
        json.dumps({"10.99.0.5": {"pid": os.getpid(), "started": 1, "boot": "another", "mac": ""}})
    )
    stage.holder = await stage.ensure()
    assert stage.holder.pid not in (pid, os.getpid())
    assert stage.holder.subnet == "10.244.0.0/16"
    assert await stage.holder.attached() == {}


async def rubbish_at_the_door(stage: Stage) -> None:
    for said in (b"\n", b"[]\n", b"{\n", b'{"ask":"plug"}\n', b"\xff" * 100_000, b'{"id":1,"ask":"fly"}\n'):
        reader, writer = await asyncio.open_unix_connection(str(stage.data / "node/holder.sock"))
        writer.write(said)
        writer.write_eof()
        await reader.read()
        writer.close()
    assert await stage.holder.attached() == {}


async def stopped_after_a_kill(stage: Stage) -> None:
    """`down` with a holder that was killed: what it had done to the host is undone all the same."""
    await stage.holder.close()
    os.kill(stage.holder.pid, signal.SIGKILL)
    await until(
        lambda: not os.path.exists(f"/proc/{stage.holder.pid}/ns/net") or not os.listdir(f"/proc/{stage.holder.pid}/task")
    )


async def terminated(stage: Stage) -> None:
    await stage.holder.close()
    os.kill(stage.holder.pid, signal.SIGTERM)
    stage.holder = await NetnsClient.ensure(stage.data, stage.level)
    await stage.holder.close()


@LEVEL
def test_pods_reach_each_other_and_themselves(level: str) -> None:
    scenes.play(neighbours, level)


@LEVEL
def test_a_pod_is_reached_from_outside_even_on_its_loopback(level: str) -> None:
    scenes.play(reached_from_outside, level)


@LEVEL
def test_what_cannot_be_plugged_is_refused_with_the_reason(level: str) -> None:
    scenes.play(refused_with_words, level)


@LEVEL
def test_a_caller_waits_while_no_daemon_runs(level: str) -> None:
    scenes.play(waits_for_the_next_daemon, level)


@LEVEL
def test_daemons_that_start_at_once_share_one_holder(level: str) -> None:
    scenes.play(one_for_many_daemons, level)


@LEVEL
def test_connections_between_pods_outlive_a_killed_holder(level: str) -> None:
    scenes.play(killed, level)


@LEVEL
def test_pods_of_those_who_joined_a_killed_holder_find_the_next_one(level: str) -> None:
    scenes.play(killed_before_any_pod, level)


@LEVEL
def test_a_pod_that_is_plugged_in_is_left_alone(level: str) -> None:
    scenes.play(found_again, level)


@LEVEL
def test_what_an_earlier_boot_left_is_not_believed(level: str) -> None:
    scenes.play(another_boot, level)


@LEVEL
def test_the_door_takes_rubbish_calmly(level: str) -> None:
    scenes.play(rubbish_at_the_door, level)


@LEVEL
def test_nothing_is_left_of_a_killed_holder_after_stop(level: str) -> None:
    scenes.play(stopped_after_a_kill, level)


@LEVEL
def test_a_terminated_holder_is_followed_by_another(level: str) -> None:
    scenes.play(terminated, level)
