"""Exec sessions in a container."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from typing import Any

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, execute, exists, read_all, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecFailed, ExecOptions

ALL = ExecOptions(stdin=True, stdout=True, stderr=True)
TERMINAL = ExecOptions(stdin=True, stdout=True, tty=True)


async def sleeper(harness: ShimHarness, **values: Any) -> runtime.ShimClient:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000", **values))
    return shim


async def test_a_command_has_streams_and_an_exit_code(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    code, out, err = await execute(shim, "sh", "-c", "tr a-z A-Z; echo complaint >&2; exit 5", stdin=b"words")
    assert (code, out, err) == (5, b"WORDS", b"complaint\n")


async def test_a_command_killed_by_a_signal_is_reported(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    assert (await execute(shim, "sh", "-c", "kill -KILL $$"))[0] == 137


async def test_a_command_has_the_containers_environment_and_directory(harness: ShimHarness) -> None:
    shim = await sleeper(harness, env={"COLOUR": "blue"}, cwd="/usr")
    session = await shim.exec("main", ["sh", "-c", "echo $COLOUR $SIZE; pwd"], ExecOptions(stdout=True), {"SIZE": "9"})
    assert session.stdin is None
    assert session.stderr is None
    assert await read_all(session.stdout) == b"blue 9\n/usr\n"
    assert await session.wait() == 0
    session.close()


async def test_a_command_is_in_the_containers_namespaces(isolated: ShimHarness) -> None:
    shim = await sleeper(isolated)
    kinds = ("mnt", "pid", "net", "ipc", "uts")
    pid = (await shim.container_statuses())["main"].pid
    _, out, _ = await execute(shim, "sh", "-c", "; ".join(f"readlink /proc/self/ns/{kind}" for kind in kinds))
    assert out.decode().split() == [os.readlink(f"/proc/{pid}/ns/{kind}") for kind in kinds]
    assert (await execute(shim, "hostname"))[1] == b"pod-1\n"


async def test_files_of_a_command_are_visible_in_the_container(isolated: ShimHarness) -> None:
    shim = await sleeper(isolated)
    await execute(shim, "sh", "-c", "echo here > /tmp/of-the-container")
    assert (await execute(shim, "cat", "/tmp/of-the-container"))[1] == b"here\n"  # noqa: S108
    assert not exists("/tmp/of-the-container")  # noqa: S108


async def test_fifty_megabytes_pass_in_both_directions_concurrently(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    data = os.urandom(1 << 20) * 50
    session = await shim.exec("main", ["cat"], ALL)
    assert session.stdin is not None

    async def feed() -> None:
        assert session.stdin is not None
        for start in range(0, len(data), 1 << 16):
            session.stdin.write(data[start : start + (1 << 16)])
            await session.stdin.drain()
        session.stdin.close()

    _, out, code = await asyncio.gather(feed(), read_all(session.stdout), session.wait())
    session.close()
    assert code == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()


async def test_unread_input_is_not_buffered_without_limit(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    session = await shim.exec("main", ["sleep", "1000"], ALL)
    assert session.stdin is not None
    session.stdin.write(b"x" * (8 << 20))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(session.stdin.drain(), 0.2)
    session.close()


async def test_closing_a_session_kills_the_command_and_its_children(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    session = await shim.exec("main", ["sh", "-c", "sleep 1001 & echo $!; wait"], ExecOptions(stdout=True))
    assert session.stdout is not None
    assert await session.stdout.read(100)
    session.close()
    assert await session.wait() == 137
    session.close()
    await wait_until(lambda: not _runs("1001", harness))


async def test_the_commands_of_a_closed_connection_are_killed(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    other = await runtime.ShimClient.connect(shim.directory)
    session = await other.exec("main", ["sleep", "1002"], ExecOptions(stdout=True))
    other.close()
    assert await session.wait() == 137
    session.close()
    await wait_until(lambda: not _runs("1002", harness))
    assert (await shim.container_statuses())["main"].running


async def test_background_processes_of_a_command_run_until_the_container_exits(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    await execute(shim, "sh", "-c", "setsid sleep 1003 >/dev/null 2>&1 </dev/null &")
    await wait_until(lambda: _runs("1003", harness))
    await shim.kill("main")
    await wait_for_exit(shim)
    await wait_until(lambda: not _runs("1003", harness))


async def test_commands_end_with_their_container(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    session = await shim.exec("main", ["sleep", "1004"], ExecOptions(stdout=True))
    await shim.kill("main")
    assert await session.wait() == 137
    assert await read_all(session.stdout) == b""
    session.close()


async def test_a_missing_command_is_reported_with_the_searched_path(harness: ShimHarness) -> None:
    shim = await sleeper(harness, env={"PATH": "/usr/bin:/opt/none"})
    with pytest.raises(
        ExecFailed, match=r'exec: "absent": executable file not found in \$PATH \(looked in /usr/bin, /opt/none\)'
    ):
        await shim.exec("main", ["absent"], ALL)


async def test_exec_in_a_container_that_is_not_running_fails(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    with pytest.raises(ContainerNotFound, match="other"):
        await shim.exec("other", ["true"], ALL)


async def test_a_command_has_its_own_terminal_with_the_size_of_the_client(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    session = await shim.exec("main", ["sh", "-c", "read go; stty size; tty; echo $TERM"], TERMINAL)
    assert session.stdin is not None
    assert session.stderr is None
    session.resize(123, 45)
    session.stdin.write(b"go\n")
    words = (await read_all(session.stdout)).decode().split()
    assert await session.wait() == 0
    session.close()
    assert words[:3] == ["go", "45", "123"]
    assert words[3].startswith("/dev/pts/")
    assert words[4] == "xterm"


async def test_an_interrupt_typed_at_a_terminal_reaches_the_command(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    session = await shim.exec("main", ["sh", "-c", "echo ready; exec sleep 1000"], TERMINAL)
    assert session.stdin is not None
    assert session.stdout is not None
    assert b"ready" in await session.stdout.read(100)
    session.stdin.write(b"\x03")
    assert await session.wait() == 130
    session.close()


async def test_many_commands_run_concurrently(harness: ShimHarness) -> None:
    shim = await sleeper(harness)
    answers = await asyncio.gather(*(execute(shim, "sh", "-c", f"cat; exit {n}", stdin=b"%d" % n) for n in range(30)))
    assert answers == [(n, b"%d" % n, b"") for n in range(30)]


async def test_commands_whose_start_is_cancelled_do_not_run_on(harness: ShimHarness) -> None:
    shim = await sleeper(harness)

    async def cancelled(seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                (await shim.exec("main", ["sleep", "1001"], ExecOptions(stdout=True))).close()

    await asyncio.gather(*(cancelled(number / 500) for number in range(20)))
    assert (await execute(shim, "true"))[0] == 0
    await wait_until(lambda: not _runs("1001", harness))


def _runs(argument: str, harness: ShimHarness) -> bool:
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as environment:
                if command.read() == b"sleep\0%b\0" % argument.encode() and str(harness.data).encode() in environment.read():
                    return True
        except OSError:
            continue
    return False
