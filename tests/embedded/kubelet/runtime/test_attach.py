"""Clients that attach to a running container."""

from __future__ import annotations

import asyncio

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, read_all, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecOptions

OUTPUT = ExecOptions(stdout=True, stderr=True)
ALL = ExecOptions(stdin=True, stdout=True, stderr=True)


async def test_attach_streams_new_output_which_is_also_in_the_log(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("echo before; read go; echo after; echo aside >&2", stdin=True))
    await wait_until(lambda: harness.output() == b"before\n")
    session = await shim.attach("main", ALL)
    assert session.stdin is not None
    session.stdin.write(b"go\n")
    out, err, _ = await asyncio.gather(read_all(session.stdout), read_all(session.stderr), session.wait())
    session.close()
    assert (out, err) == (b"after\n", b"aside\n")
    assert harness.output() == b"before\nafter\n"


async def test_stdin_once_closes_stdin_with_the_first_client(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("cat", stdin=True, stdin_once=True))
    session = await shim.attach("main", ALL)
    assert session.stdin is not None
    session.stdin.write(b"x" * 300_000 + b"\n")
    session.stdin.close()
    assert (await wait_for_exit(shim)).code == 0
    assert await read_all(session.stdout) == b"x" * 300_000 + b"\n"
    session.close()
    assert harness.output() == b"x" * 300_000 + b"\n"


async def test_without_stdin_once_stdin_stays_open_for_the_next_client(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("head", "-n", "2", stdin=True))
    for word in (b"one\n", b"two\n"):
        session = await shim.attach("main", ALL)
        assert session.stdin is not None
        session.stdin.write(word)
        session.stdin.close()
        await wait_until(lambda: session.stdin.gone)  # noqa: B023 -- awaited in the same round
        session.close()
    assert (await wait_for_exit(shim)).code == 0
    assert harness.output() == b"one\ntwo\n"


async def test_a_client_that_does_not_read_blocks_neither_the_container_nor_others(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell(f"read go; yes {'word' * 25} | head -n 200000; echo end", stdin=True, log_bytes=1 << 20))
    session = await shim.attach("main", ALL)
    assert session.stdin is not None
    session.stdin.write(b"go\n")
    assert (await wait_for_exit(shim)).code == 0
    assert harness.log()[-1] == ("stdout", "F", b"end")
    session.close()


async def test_closing_the_session_does_not_stop_the_container(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("while :; do echo tick; sleep 0.01; done"))
    session = await shim.attach("main", OUTPUT)
    assert session.stdout is not None
    assert b"tick\n" in await session.stdout.read(1000)
    session.close()
    seen = len(harness.log())
    await wait_until(lambda: len(harness.log()) > seen + 5)
    assert (await shim.container_statuses())["main"].running


async def test_a_container_with_a_terminal_has_one_stream(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(
        harness.shell("tty >/dev/null && echo terminal; read word; stty size; echo got $word >&2", stdin=True, tty=True)
    )
    await wait_until(lambda: harness.output() == b"terminal\r\n")
    session = await shim.attach("main", ExecOptions(stdin=True, stdout=True, tty=True))
    assert session.stdin is not None
    assert session.stderr is None
    session.resize(100, 30)
    session.stdin.write(b"apple\n")
    assert (await wait_for_exit(shim)).code == 0
    assert b"30 100\r\ngot apple\r\n" in await read_all(session.stdout)
    session.close()
    assert {stream for stream, _, _ in harness.log()} == {"stdout"}


async def test_attach_to_a_container_that_is_not_running_fails(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with pytest.raises(ContainerNotFound):
        await shim.attach("main", OUTPUT)
