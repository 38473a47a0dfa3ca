"""Containers that try to use the processes of the runtime: init, the start of their command, and exec."""

from __future__ import annotations

import asyncio
import contextlib

from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, execute, run_to_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime

DESCRIPTORS = range(3, 20)
"""Init has fewer."""


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
