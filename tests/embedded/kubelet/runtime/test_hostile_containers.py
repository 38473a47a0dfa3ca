"""Containers that try to use the processes of the runtime: init, the start of their command, and exec."""

from __future__ import annotations

import asyncio
import contextlib
import shlex

import pytest
from tests import interpreters
from tests.embedded.kubelet.runtime import host_search
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, execute, run_to_exit, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime, spec

DESCRIPTORS = range(3, 20)
"""Init has fewer."""
ENOUGH = "/run/enough"


async def test_no_descriptor_of_init_is_a_working_directory(isolated: ShimHarness) -> None:
    """The process that enters the working directory has more rights than the container, and could follow links of /proc."""
    shim, output = await isolated.pod(), b""
    for attempt, number in enumerate(DESCRIPTORS):
        with contextlib.suppress(runtime.StartContainerError):
            output += (await run_to_exit(isolated, shim, "ls -a . ..", cwd=f"/proc/1/fd/{number}", attempt=attempt))[1]
    assert b"spec.json" not in output


async def test_exec_works_although_the_table_of_users_is_a_pipe(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    script = "rm /etc/passwd /etc/group; mkfifo /etc/passwd; ln -s /dev/zero /etc/group; echo ready; sleep 1000"
    await shim.start(isolated.shell(script))
    await wait_until(lambda: isolated.output() == b"ready\n")
    async with asyncio.timeout(20):
        assert await execute(shim, "echo", "word") == (0, b"word\n", b"")


async def test_a_container_that_may_trace_its_init_process_gains_nothing(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(isolated, shim, search(isolated), add_capabilities=("SYS_PTRACE",))
    assert output == b"searching\nsearched\n"


async def test_a_container_that_may_trace_all_processes_of_its_pod_gains_nothing(isolated: ShimHarness) -> None:
    shim = await isolated.pod(share_processes=True)
    await shim.start(isolated.shell("sleep 1000", name="other"))
    _, output = await run_to_exit(isolated, shim, search(isolated), add_capabilities=("SYS_PTRACE",))
    assert output == b"searching\nsearched\n"


@pytest.mark.parametrize("shared", [False, True], ids=["own processes", "shared processes"])
async def test_a_container_that_may_trace_starting_commands_gains_nothing(isolated: ShimHarness, shared: bool) -> None:
    shim = await isolated.pod(share_processes=shared)
    await shim.start(isolated.shell(search(isolated, ENOUGH), name="main", add_capabilities=("SYS_PTRACE",)))
    await wait_until(lambda: isolated.output().startswith(b"searching\n"))
    for number in range(20):
        assert await execute(shim, "echo", "word") == (0, b"word\n", b"")
        if shared and number < 5:
            await shim.start(isolated.shell("true", name=f"other-{number}"))
    assert await execute(shim, "touch", ENOUGH) == (0, b"", b"")
    record = await wait_for_exit(shim)
    assert (record.code, isolated.output()) == (0, b"searching\nsearched\n")


CHANGE_PROGRAM = """import os, stat
files = ["/proc/1/exe", *(f"/proc/1/map_files/{name}" for name in os.listdir("/proc/1/map_files"))]
for path in files:
    opened = os.open(path, os.O_RDONLY)
    for name, change in (("mode", lambda: os.fchmod(opened, stat.S_IMODE(os.fstat(opened).st_mode))),
                         ("owner", lambda: os.fchown(opened, 0, 0)), ("content", lambda: os.open(path, os.O_WRONLY))):
        try:
            change()
            print("changed the", name, "of", os.readlink(path))
        except OSError:
            pass
print(len(files) > 2)
"""


async def test_a_container_that_may_trace_its_init_process_cannot_change_the_files_of_our_program(isolated: ShimHarness) -> None:
    if isolated.isolation == spec.Isolation.USER:
        pytest.skip("init cannot be traced in a user namespace")
    shim = await isolated.pod()
    script = shlex.join([interpreters.in_containers(), "-ISc", CHANGE_PROGRAM])
    _, output = await run_to_exit(isolated, shim, script, add_capabilities=("SYS_PTRACE", "CHECKPOINT_RESTORE"))
    assert output == b"True\n"


STOP_INIT = """import ctypes, time
libc, seize, interrupt = ctypes.CDLL(None), 0x4206, 0x4207
assert libc.ptrace(seize, 1, None, None) == 0 and libc.ptrace(interrupt, 1, None, None) == 0
print("stopped", flush=True)
time.sleep(1000)
"""


async def test_a_container_that_stops_its_init_process_is_killed(isolated: ShimHarness) -> None:
    if isolated.isolation == spec.Isolation.USER:
        pytest.skip("init cannot be traced in a user namespace")
    shim = await isolated.pod()
    script = shlex.join([interpreters.in_containers(), "-ISc", STOP_INIT])
    await shim.start(isolated.shell(script, add_capabilities=("SYS_PTRACE",)))
    await wait_until(lambda: isolated.output() == b"stopped\n")
    await shim.kill("main")
    assert (await wait_for_exit(shim)).code == 137


def search(harness: ShimHarness, until: str = "") -> str:
    secret = harness.data / "secret"
    secret.write_text("precious")
    return shlex.join(host_search.command(secret, until))
