"""The namespaces of a pod and those of its containers."""

from __future__ import annotations

import os
import pathlib
import signal

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, execute, exists, run_to_exit, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime, spec
from traincrew.embedded.kubelet.runtime.container import capabilities

UNCHANGED = pathlib.Path("/proc/sys/kernel/printk_ratelimit_burst").read_text()


def namespace(pid: int, kind: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{kind}")


async def test_containers_share_network_ipc_and_hostname_but_not_mounts_and_processes(isolated: ShimHarness) -> None:
    shim = await isolated.pod(hostname="worker-3")
    for name in ("a", "b"):
        await shim.start(isolated.shell("hostname; sleep 1000", name=name))
    states = await shim.container_statuses()
    a, b = states["a"].pid, states["b"].pid
    for kind in ("net", "ipc", "uts"):
        assert namespace(a, kind) == namespace(b, kind) == namespace(shim.pid, kind) != namespace(os.getpid(), kind)
    for kind in ("mnt", "pid"):
        assert len({namespace(pid, kind) for pid in (a, b, os.getpid())}) == 3
    await wait_until(lambda: isolated.output("a") == isolated.output("b") == b"worker-3\n")
    assert os.uname().nodename != "worker-3"


async def test_the_pod_has_its_own_loopback(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(isolated, shim, "cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /sys/class/net/lo/flags")
    assert output.split() == [b"lo", b"0x9"]


async def test_host_network_uses_the_network_and_hostname_of_the_host(isolated: ShimHarness) -> None:
    shim = await isolated.pod(host_network=True, host_ipc=True)
    await shim.start(isolated.container("sleep", "1000"))
    pid = (await shim.container_statuses())["main"].pid
    for kind in ("net", "ipc", "uts"):
        assert namespace(pid, kind) == namespace(os.getpid(), kind)


async def test_the_command_has_process_id_2(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(isolated, shim, "echo $$ $PPID; ls -d /proc/[0-9]* | head -n 2")
    assert output == b"2 1\n/proc/1\n/proc/2\n"


async def test_a_shared_process_namespace_is_visible_to_all_containers_which_exit_independently(isolated: ShimHarness) -> None:
    shim = await isolated.pod(share_processes=True)
    await shim.start(isolated.shell("(setsid sleep 1000 &); exec sleep 1001", name="a"))
    await shim.start(isolated.container("sleep", "1002", name="b"))
    _, seen, _ = await execute(shim, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", name="b")
    assert b"sleep 1001" in seen
    assert b"sleep 1002" in seen
    await shim.kill("a")
    assert (await wait_for_exit(shim, "a")).code == 137
    assert (await shim.container_statuses())["b"].running
    _, seen, _ = await execute(shim, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", name="b")
    assert b"sleep 1000" not in seen
    assert b"sleep 1002" in seen


KILL = 1 << 5
SHOW_RIGHTS = (
    "id -u; sed -n 's/^Cap[PB][rn][md]:\\t//p' /proc/self/status; sed -n 's/^CapPrm:\\t//p' /proc/$PPID/status; sleep 1000"
)


@pytest.mark.parametrize("user", [0, 1234])
async def test_init_in_a_shared_process_namespace_has_the_rights_of_its_container_and_kill(
    isolated: ShimHarness, user: int
) -> None:
    if os.geteuid() != 0:
        pytest.skip("a second id needs subordinate ids")
    shim = await isolated.pod(share_processes=True)
    await shim.start(isolated.shell(SHOW_RIGHTS, user=user, group=user, drop_capabilities=("KILL",)))
    await wait_until(lambda: len(isolated.output().split()) == 4)
    words = isolated.output().split()
    permitted, bounding, of_init = (int(word, 16) for word in words[1:])
    default = capabilities.effective_set((), ("KILL",), False)
    assert (int(words[0]), bounding) == (user, default)
    assert permitted == (default if user == 0 else 0)
    assert of_init == permitted | KILL
    await shim.signal("main", signal.SIGTERM)
    assert (await wait_for_exit(shim)).code == 143


async def test_host_pid_uses_the_process_namespace_of_the_host(isolated: ShimHarness) -> None:
    shim = await isolated.pod(host_pid=True)
    await shim.start(isolated.shell("(setsid sleep 1000 &); sleep 1001"))
    pid = (await shim.container_statuses())["main"].pid
    assert namespace(pid, "pid") == namespace(os.getpid(), "pid")
    await shim.kill("main")
    assert (await wait_for_exit(shim)).code == 137


async def test_sysctls_apply_to_the_pod_only(isolated: ShimHarness) -> None:
    shim = await isolated.pod(sysctls={"net.ipv4.ip_unprivileged_port_start": "99"})
    _, output = await run_to_exit(isolated, shim, "cat /proc/sys/net/ipv4/ip_unprivileged_port_start")
    assert output == b"99\n"


@pytest.mark.parametrize("name", ["kernel.printk_ratelimit_burst", "net.//.kernel.printk_ratelimit_burst"])
async def test_a_sysctl_of_the_machine_is_rejected(isolated: ShimHarness, name: str) -> None:
    with pytest.raises(runtime.CreateSandboxError, match="is not in a separate kernel namespace"):
        await isolated.pod(sysctls={name: UNCHANGED})
    with pytest.raises(runtime.CreateSandboxError, match="is not in a separate kernel namespace"):
        await isolated.pod(sysctls={"net.ipv4.ip_unprivileged_port_start": "1024"}, host_network=True)


async def test_a_container_cannot_inspect_its_init_process(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    _, output = await run_to_exit(
        isolated, shim, "cd /proc/1/task/1; readlink fd/*; ls -d fd/*/. root/. /proc/1/root/.; kill -KILL 1; echo alive"
    )
    assert output == b"alive\n"


async def test_a_signal_to_the_init_process_reaches_the_command(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    await shim.start(isolated.shell("trap 'exit 8' TERM; kill -TERM 1; while :; do sleep 0.02; done"))
    assert (await wait_for_exit(shim)).code == 8


async def test_an_init_process_killed_from_outside_has_an_exit_record(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    command = (await shim.container_statuses())["main"].pid
    with open(f"/proc/{command}/status") as file:  # noqa: ASYNC230
        init = next(int(line.split()[1]) for line in file if line.startswith("PPid:"))
    os.kill(init, signal.SIGKILL)
    record = await wait_for_exit(shim)
    assert (record.code, record.signal) == (137, signal.SIGKILL)
    await wait_until(lambda: not exists(f"/proc/{command}"))


async def test_the_end_of_a_long_termination_message_is_kept(isolated: ShimHarness) -> None:
    shim = await isolated.pod()
    record, _ = await run_to_exit(isolated, shim, "(head -c 5000 /dev/zero | tr '\\0' a; echo end) > /dev/termination-log")
    assert record.message == "a" * 4092 + "end\n"
    record, _ = await run_to_exit(isolated, shim, "printf words > /run/why", attempt=1, message_path="/run/why")
    assert record.message == "words"


async def test_a_container_can_have_its_own_user(isolated: ShimHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("a second id needs subordinate ids")
    shim = await isolated.pod()
    values = {"user": 1234, "group": 2345, "groups": (3456,)}
    record, output = await run_to_exit(isolated, shim, "id -u; id -g; id -G; echo said > /dev/termination-log", **values)
    assert output == b"1234\n2345\n2345 3456\n"
    assert record.message == "said\n"
    assert (await execute_as(isolated, values)) == b"1234\n"


async def execute_as(harness: ShimHarness, values: dict[str, object]) -> bytes:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000", **values))  # type: ignore[arg-type]
    return (await execute(shim, "id", "-u"))[1]


async def test_an_oom_kill_is_reported_whatever_the_exit_code(isolated: ShimHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("control groups need root here")
    shim = await isolated.pod(cgroup=f"{isolated.group}/pod-1")
    script = "(head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null); echo went on; exit 0"
    record, output = await run_to_exit(isolated, shim, script, limits=spec.Limits(memory=64 << 20))
    assert output == b"went on\n"
    assert (record.code, record.oom) == (0, True)
    record, _ = await run_to_exit(isolated, shim, "exit 3", attempt=1, limits=spec.Limits(memory=64 << 20))
    assert (record.code, record.oom) == (3, False)


async def test_usage_is_that_of_the_cgroup(isolated: ShimHarness) -> None:
    if os.geteuid() != 0:
        pytest.skip("control groups need root here")
    shim = await isolated.pod(cgroup=f"{isolated.group}/pod-1")
    await shim.start(isolated.shell("i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo worked; sleep 1000"))
    await wait_until(lambda: isolated.output() == b"worked\n")
    usage = (await shim.usage())["main"]
    assert usage.cpu_seconds > 0.005
    assert usage.memory_bytes > 0
    assert usage.pids >= 1
