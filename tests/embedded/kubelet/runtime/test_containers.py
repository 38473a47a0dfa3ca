"""The lifecycle of a container: start, output and exit."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, command_line, execute, run_to_exit, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime


async def test_output_and_exit_code_are_on_disk_when_the_exit_is_reported(harness: ShimHarness) -> None:
    shim = await harness.pod()
    record, output = await run_to_exit(harness, shim, "echo one; echo two >&2; exit 3")
    assert (record.code, record.signal, record.oom) == (3, 0, False)
    assert output == b"one\n"
    assert harness.output(stream="stderr") == b"two\n"
    assert datetime.datetime.fromisoformat(record.started) <= datetime.datetime.fromisoformat(record.finished)


async def test_a_signal_is_reported_as_in_the_kubelet(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    await shim.signal("main", signal.SIGTERM)
    record = await wait_for_exit(shim)
    assert (record.code, record.signal) == (143, signal.SIGTERM)


async def test_the_command_can_handle_a_signal(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"))
    await wait_until(lambda: harness.output() == b"ready\n")
    await shim.signal("main", signal.SIGTERM)
    assert (await wait_for_exit(shim)).code == 7
    assert harness.output() == b"ready\nbye\n"


async def test_kill_ends_every_process_even_if_it_ignores_signals(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("trap '' TERM; (trap '' TERM HUP; setsid sleep 1000) & echo ready; wait"))
    await wait_until(lambda: harness.output() == b"ready\n")
    await shim.kill("main")
    record = await wait_for_exit(shim)
    assert (record.code, record.signal) == (137, signal.SIGKILL)


async def test_background_processes_are_killed_when_the_command_exits(harness: ShimHarness) -> None:
    shim = await harness.pod()
    # The second process would keep the pipe of the log open for a long time.
    record, output = await run_to_exit(harness, shim, "setsid sleep 1000 >/dev/null & (setsid sleep 1001 &) ; echo done")
    assert record.code == 0
    assert output == b"done\n"


async def test_orphans_are_reaped_while_the_command_runs(harness: ShimHarness) -> None:
    shim = await harness.pod()
    script = "for i in 1 2 3 4 5; do (sleep 0.01 &); done; sleep 0.3; grep -l '^State:.Z' /proc/[0-9]*/status | wc -l; echo end"
    if harness.isolation == "none":
        pytest.skip("the host's processes are in /proc, too")
    _, output = await run_to_exit(harness, shim, script)
    assert output == b"0\nend\n"


async def test_starting_an_attempt_twice_starts_it_once(harness: ShimHarness) -> None:
    shim = await harness.pod()
    container = harness.shell("echo once; sleep 1000")
    first, second = await asyncio.gather(shim.start(container), shim.start(container))
    third = await shim.start(container)
    assert first == second == third
    await wait_until(lambda: harness.output() == b"once\n")
    await shim.kill("main")
    await wait_for_exit(shim)
    assert await shim.start(container) == first
    assert harness.output() == b"once\n"


async def test_an_attempt_waits_for_the_exit_of_the_previous_one(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    with pytest.raises(runtime.StartContainerError, match=r"still runs \(attempt 0\)"):
        await shim.start(harness.container("true", attempt=1))
    await shim.kill("main")
    await wait_for_exit(shim)
    await shim.start(harness.container("true", attempt=1))
    assert (await wait_for_exit(shim, attempt=1)).code == 0


async def test_the_environment_contains_only_variables_of_the_container(harness: ShimHarness) -> None:
    shim = await harness.pod()
    _, output = await run_to_exit(
        harness, shim, "env | sort", env={"GREETING": "good day", "HOME": "/home", "PATH": "/usr/bin:/bin"}
    )
    names = {line.partition(b"=")[0] for line in output.splitlines()}
    assert b"GREETING=good day" in output.splitlines()
    assert names <= {b"GREETING", b"HOME", b"PATH", b"HERE", b"PWD", b"OLDPWD", b"SHLVL", b"_"}


async def test_path_and_home_have_defaults(harness: ShimHarness) -> None:
    shim = await harness.pod()
    _, output = await run_to_exit(harness, shim, 'echo "$PATH" && test -n "$HOME" && echo home')
    assert output == b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nhome\n"


async def test_a_broken_pipe_kills_a_command(harness: ShimHarness) -> None:
    shim = await harness.pod()
    record, _ = await run_to_exit(harness, shim, "kill -PIPE $$; echo survived")
    assert record.signal == signal.SIGPIPE


async def test_states_show_running_containers(harness: ShimHarness) -> None:
    shim = await harness.pod()
    started = await shim.start(harness.container("sleep", "1000"))
    await shim.start(harness.container("true", name="other"))
    await wait_for_exit(shim, "other")
    states = await shim.container_statuses()
    assert states["main"].running
    assert states["main"].started == started
    assert not states["other"].running
    assert command_line(states["main"].pid) == ["sleep", "1000"]


async def test_stop_records_the_exits_and_is_idempotent(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    await shim.stop()
    record = runtime.read_exit(shim.directory, "main", 0)
    assert record is not None
    assert record.code == 137
    await shim.stop()
    with pytest.raises(runtime.ShimGone):
        await runtime.ShimClient.connect(shim.directory)
    with pytest.raises(runtime.ShimGone):
        await shim.start(harness.container("true"))


async def test_exits_are_reported_to_later_clients(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await run_to_exit(harness, shim, "exit 4")
    later = await runtime.ShimClient.connect(shim.directory)
    assert (await wait_for_exit(later)).code == 4
    assert (later.pid, later.protocol) == (shim.pid, shim.protocol)
    later.close()


async def test_several_containers_run_concurrently(harness: ShimHarness) -> None:
    shim = await harness.pod()
    names = [f"c{number}" for number in range(8)]
    await asyncio.gather(*(shim.start(harness.shell(f"echo {name}; sleep 1000", name=name)) for name in names))
    await wait_until(lambda: all(harness.output(name) == name.encode() + b"\n" for name in names))
    assert {name for name, state in (await shim.container_statuses()).items() if state.running} == set(names)


async def test_usage_counts_the_processes_of_a_container(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("echo ready; sleep 1000 & sleep 1000"))
    await wait_until(lambda: harness.output() == b"ready\n")

    async def counted() -> bool:
        usage = (await shim.usage())["main"]
        return usage.pids == 3 and usage.memory_bytes > 100_000

    async with asyncio.timeout(10):
        while not await counted():  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0.01)


WRITE = "for i in 1 2; do echo $0-$i > /proc/1/fd/$i; done"


async def test_the_descriptors_of_process_1_are_those_of_the_command(isolated: ShimHarness) -> None:
    """As in images whose cron jobs and hooks write to the container's log."""
    shim = await isolated.pod()
    await shim.start(isolated.container("sh", "-c", f"{WRITE}; sleep 1000", "command"))
    assert (await execute(shim, "sh", "-c", WRITE, "hook"))[0] == 0
    await wait_until(lambda: isolated.output() == b"command-1\nhook-1\n")
    await wait_until(lambda: isolated.output(stream="stderr") == b"command-2\nhook-2\n")
    listed = await execute(shim, "sh", "-c", "ls /proc/1/fd; touch /proc/1/fd/x || echo read-only")
    assert listed[1].split() == [b"0", b"1", b"2", b"read-only"]


async def test_a_user_opens_the_streams_of_the_container(isolated: ShimHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("a second id needs subordinate ids")
    shim = await isolated.pod()
    script = "echo own > /dev/stdout; echo error > /dev/stderr; sleep 1000"
    await shim.start(isolated.shell(script, user=1234, group=1234))
    assert await execute(shim, "sh", "-c", "echo out > /dev/stdout; echo log > /proc/1/fd/1") == (0, b"out\n", b"")
    await wait_until(lambda: isolated.output() == b"own\nlog\n")
    await wait_until(lambda: isolated.output(stream="stderr") == b"error\n")
