"""Limits that the node does not enforce: said at the start of the cluster and of a job, and while a replica exceeds its limit."""

from __future__ import annotations

import asyncio
import os
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.cli.cluster_fixture import COMMAND, TIMEOUT_SECONDS
from tests.cli.test_hang import until_printed
from tests.cli.test_real_pods import Machine

from traincrew.cli.local_cluster import unenforced_limits
from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.inspection import memory_limits

WHY = "no limits for memory, pids: /sys/fs/cgroup is not writable: Permission denied (run `x`)"
ANNOUNCED = {"unenforced": {"resources": ["memory", "pids"], "why": WHY}}
READ_ONLY = """
for directory in /sys/fs/cgroup /sys/fs/cgroup/*; do
    mountpoint -q "$directory" && mount -o remount,bind,ro "$directory"
done
exec "$@"
"""
"""Runs a command in a mount namespace in which cgroups cannot be created."""
USES_MEMORY = "used = b'x' * (96 << 20); print('allocated', flush=True); import time; time.sleep(3600)"


def _pod(**limits: str) -> dict[str, object]:
    return {"containers": [{"name": "a", "resources": {"limits": limits}}, {"name": "b"}]}


def test_the_limits_that_are_not_enforced_are_named_once() -> None:
    (line,) = unenforced_limits.of_pods(ANNOUNCED, [_pod(memory="300Mi", cpu="2"), _pod(memory="300Mi")])
    assert line == f"warning: the limits of the job (memory 300Mi) are not enforced on this node: {WHY}"
    assert unenforced_limits.of_node(ANNOUNCED) == [f"warning: pods can use more than their limits: {WHY}"]


@pytest.mark.parametrize("announced", [{}, {"unenforced": {}}, ANNOUNCED])
def test_nothing_is_said_about_limits_that_are_enforced_or_not_set(announced: dict[str, object]) -> None:
    specs = [_pod(cpu="2"), _pod()]
    assert unenforced_limits.of_pods(announced, specs) == []
    assert unenforced_limits.of_node({}) == []


def test_replicas_that_exceed_their_limits_are_named_the_worst_first() -> None:
    mib = 2**20
    known = [ReplicaActivity(f"worker-{index}", memory=(90 + 10 * index) * mib, memory_limit=100 * mib) for index in range(7)]
    found = memory_limits.exceeded([*known, ReplicaActivity("a", memory=9 * mib), ReplicaActivity("b", memory_limit=mib)])
    assert found[0] == "worker-6 uses 150 MiB of memory, more than its limit of 100 MiB, which is not enforced"
    assert (len(found), found[-1]) == (5, "so does 1 other replica")
    assert memory_limits.exceeded(known[:2]) == []


@pytest.fixture
async def unlimited(tmp_path: pathlib.Path) -> AsyncIterator[tuple[Machine, str]]:
    """A cluster that may not create cgroups, and what its start printed."""
    found = Machine(tmp_path)
    prefix = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh"] if os.geteuid() == 0 else []
    if not prefix and not hierarchies.discover().missing:
        pytest.skip("cgroups are delegated to this user")
    pipe = asyncio.subprocess.PIPE
    command = [*prefix, *COMMAND, "up", "--detach"]
    process = await asyncio.create_subprocess_exec(*command, cwd=found.work, env=found.env, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    yield found, out.decode()
    await found("delete", "--all", "--wait")
    await found("down", "--grace", "0")


async def test_a_cluster_without_cgroups_says_so_until_the_job_is_explained(unlimited: tuple[Machine, str]) -> None:
    machine, started = unlimited
    assert started.count("warning: pods can use more than their limits: no limits for ") == 1
    command = ("--memory", "64Mi", "--name", "big", "--", "python", "-c", USES_MEMORY)
    code, _, err = await machine("run", "--detach", "--kind", "PyTorchJob", *command)
    assert (code, err.count("the limits of the job (memory 64Mi) are not enforced on this node: no limits for ")) == (0, 1), err
    page = await until_printed(machine, "more than its limit of 64 MiB, which is not enforced", "why", "big")
    assert "master-0 uses " in page
    assert "`traincrew doctor`" in page
