"""Exec with a ticket, through the exec socket of the shim."""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys

from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime, spec
from traincrew.embedded.kubelet.runtime.client import ticket_exec
from traincrew.embedded.kubelet.runtime.shim import exec_socket

PYTHON = os.path.realpath(sys.executable)
"""Not the interpreter of a virtual environment, which may be below /tmp: pods have their own /tmp."""


async def run_with_ticket(
    harness: ShimHarness, shim: runtime.ShimClient, secret: str, *argv: str, stdin: bytes = b""
) -> tuple[int, bytes, bytes]:
    process = await start(harness, shim, secret, *argv)
    out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return process.returncode, out, err


async def start(harness: ShimHarness, shim: runtime.ShimClient, secret: str, *argv: str) -> asyncio.subprocess.Process:
    """Runs the file without the rest of the package, as in a pod."""
    path = harness.data / "node/exec" / f"{shim.directory.name}.sock"
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", ticket_exec.__file__, str(path), *argv),
        env={"TRAINCREW_TICKET": secret},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_ticket_opens_one_container_once(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000", env={"WHO": "worker"}))
    await shim.issue_ticket("main", "secret-1", 60)
    code, out, err = await run_with_ticket(
        harness, shim, "secret-1", "sh", "-c", "echo $WHO; cat; echo aside >&2; exit 9", stdin=b"words"
    )
    assert (code, out, err) == (9, b"worker\nwords", b"aside\n")
    code, out, err = await run_with_ticket(harness, shim, "secret-1", "true")
    assert (code, out) == (1, b"")
    assert b"the ticket is not valid" in err


async def test_a_command_needs_a_valid_ticket(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    assert b"the ticket is not valid" in (await run_with_ticket(harness, shim, "", "true"))[2]
    await shim.issue_ticket("main", "late", 0)
    assert b"the ticket is not valid" in (await run_with_ticket(harness, shim, "late", "true"))[2]


async def test_a_command_outlives_the_daemon_and_ends_with_its_client(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    await shim.issue_ticket("main", "s", 60)
    process = await start(
        harness, shim, "s", "sh", "-c", "trap 'exit 1' PIPE; echo ready; read word; echo $word; exec sleep 1001"
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert await process.stdout.readline() == b"ready\n"
    shim.close()
    process.stdin.write(b"still here\n")
    assert await process.stdout.readline() == b"still here\n"
    process.kill()
    await process.wait()
    again = harness.keep(await runtime.ShimClient.connect(shim.directory))
    async with asyncio.timeout(10):
        while (await again.usage())["main"].pids > 1:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0.01)


async def test_a_missing_command_is_reported(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    await shim.issue_ticket("main", "s", 60)
    code, _, err = await run_with_ticket(harness, shim, "s", "absent")
    assert code == 1
    assert b"executable file not found in $PATH" in err


async def test_other_pods_that_mount_the_directory_can_use_the_exec_socket(isolated: ShimHarness) -> None:
    worker, launcher = await isolated.pod(), await isolated.pod()
    await worker.start(isolated.shell("echo of-worker > /tmp/mark; sleep 1000", name="worker"))
    await worker.issue_ticket("worker", "ticket", 60)
    mounts = (
        spec.Mount("/run/traincrew/exec", str(isolated.data / "node/exec"), read_only=True),
        spec.Mount("/run/traincrew/ticket_exec.py", ticket_exec.__file__, read_only=True),
    )
    command = f"{PYTHON} -I -S /run/traincrew/ticket_exec.py /run/traincrew/exec/{worker.directory.name}.sock cat /tmp/mark"
    await launcher.start(isolated.shell(command, name="launcher", mounts=mounts, env={"TRAINCREW_TICKET": "ticket"}))
    assert (await wait_for_exit(launcher, "launcher")).code == 0
    assert isolated.output("launcher") == b"of-worker\n"


async def test_the_exec_socket_ends_with_the_pod(harness: ShimHarness) -> None:
    shim = await harness.pod()
    path = pathlib.Path(exec_socket.path(str(shim.directory)))
    await wait_until(path.is_socket)
    await shim.stop()
    await wait_until(lambda: not path.exists())
