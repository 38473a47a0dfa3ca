"""Limits: a pod that exceeds them harms itself only, and neither other pods nor the node."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.embedded.kubelet import leak_detection
from tests.node import pod_programs
from tests.node.local_cluster import LocalCluster, pod, terminated

from traincrew.embedded.kubelet.runtime import syscalls

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root here")

PIDS = 64
MANY = 200
ROOM = 1 << 20
"""The size of the file system for logs."""
FREE = 128 << 10
"""What is free of it while the pod prints, which is too little."""


@pytest.fixture(scope="module")
def limited() -> Iterator[LocalCluster]:
    cluster = LocalCluster("root")
    try:
        yield cluster.up("--pod-pids", str(PIDS))
    finally:
        cluster.close()


def limits(**amounts: str) -> Object:
    return {"limits": amounts}


EATER = "import os; kept = []\nwhile True: kept.append(b'x' * (4 << 20))"


@pytest.mark.parametrize("code", [0, 1, 137])
def test_a_pod_that_ran_out_of_memory_is_oomkilled_whatever_its_exit_code(limited: LocalCluster, code: int) -> None:
    script = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {EATER!r}]); os._exit({code})"
    name = f"eats-{code}"
    limited.create(pod(name, "python3", "-c", script, resources=limits(memory="64Mi")))
    ended = limited.ended(name)
    assert (terminated(ended)["exitCode"], terminated(ended)["reason"]) == (code, "OOMKilled")
    assert ended["status"]["phase"] == ("Failed" if code else "Succeeded")


def test_the_command_itself_out_of_memory_is_137(limited: LocalCluster) -> None:
    limited.create(pod("eats", "python3", "-c", EATER, resources=limits(memory="64Mi")))
    message = terminated(limited.ended("eats"))
    assert (message["exitCode"], message["reason"]) == (137, "OOMKilled")


def test_a_pod_below_its_memory_limit_is_not_killed(limited: LocalCluster) -> None:
    limited.create(pod("frugal", "python3", "-c", "kept = b'x' * (16 << 20)", resources=limits(memory="128Mi")))
    assert terminated(limited.ended("frugal"))["reason"] == "Completed"


def test_a_cpu_limit_of_a_fifth_of_a_core_is_enforced(limited: LocalCluster) -> None:
    script = (
        "import time; began, spent = time.monotonic(), time.process_time()\n"
        "while time.monotonic() - began < 2: pass\n"
        "print((time.process_time() - spent) / (time.monotonic() - began))"
    )
    limited.create(pod("slow", "python3", "-c", script, resources=limits(cpu="0.2")))
    assert limited.ended("slow")["status"]["phase"] == "Succeeded"
    assert float(limited.logs("slow")) < 0.4


def test_a_fork_bomb_is_stopped_at_the_process_limit_of_its_pod(limited: LocalCluster) -> None:
    script = (
        "import os, time, errno\n"
        "made = 0\n"
        "while True:\n"
        "    try: child = os.fork()\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno], made); os._exit(3)\n"
        "    if not child: time.sleep(600)\n"
        "    made += 1"
    )
    limited.create(pod("forks", "python3", "-c", script))
    assert terminated(limited.ended("forks"))["exitCode"] == 3
    why, made = limited.logs("forks").split()
    assert why == "EAGAIN"
    assert PIDS // 2 < int(made) < PIDS
    limited.create(pod("neighbour", "true"))
    assert limited.ended("neighbour")["status"]["phase"] == "Succeeded"


def test_a_full_disk_drops_log_lines_reports_how_many_and_blocks_no_container() -> None:
    # Far more than fills the disk, on top of the 256 KiB that the pipe holds if the shim has not read yet. Those fit after the
    # disk is freed: the lines are long, so that their timestamps do not count.
    written, padding = 20_000, "x" * 200
    script = (
        f"import os, time\nfor number in range({written}): print('line', number, '{padding}', flush=True)\n"
        "open('/notes/written', 'w').close()\n"
        "while not os.path.exists('/notes/freed'): time.sleep(0.02)\n"
        "print('more')"
    )
    with _cluster_with_small_log_disk() as cluster:
        filler = cluster.data / "logs" / "filler"
        filler.write_bytes(b"x" * (ROOM - FREE))
        cluster.create(pod_programs.program(cluster, "chatty", script))
        eventually(lambda: (pod_programs.notes_directory(cluster) / "written").exists())
        filler.unlink()
        (pod_programs.notes_directory(cluster) / "freed").touch()
        assert terminated(cluster.ended("chatty"))["exitCode"] == 0
        lines = eventually(lambda: "were lost here" in (text := cluster.logs("chatty")) and text.splitlines())
    assert lines.pop() == "more"
    kept, expected = 0, 0
    for line in lines:
        if line.startswith("traincrew: "):
            expected += int(line.split()[1])
        else:
            assert line == f"line {expected} {padding}"
            kept, expected = kept + 1, expected + 1
    assert expected == written
    assert 0 < kept < written


@contextlib.contextmanager
def _cluster_with_small_log_disk() -> Iterator[LocalCluster]:
    """A cluster with its logs on a separate, small file system."""
    cluster = LocalCluster("root")
    logs = cluster.data / "logs"
    logs.mkdir(parents=True, mode=0o700)
    cluster.data.chmod(0o700)
    with _own_mounts():
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", logs], check=True)
        try:
            yield cluster.up()
        finally:
            cluster.traincrew("down", check=False)
            subprocess.run(["umount", logs], check=True)
            cluster.close()


@contextlib.contextmanager
def _own_mounts() -> Iterator[None]:
    """Mounts are not seen by others: a cluster that another test starts would copy them, and keep them after the unmount."""
    others = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
    syscalls.unshare(syscalls.CLONE_NEWNS)
    try:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        yield
    finally:
        syscalls.setns(others, syscalls.CLONE_NEWNS)
        os.close(others)


def test_two_hundred_pods_start_and_leave_nothing_behind(limited: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    gate = pod_programs.notes_directory(limited) / "gate"
    os.mkfifo(gate)
    names = [f"many-{number}" for number in range(MANY)]
    for name in names:
        limited.create(pod(name, "cat", "/notes/gate", **pod_programs.volumes(limited), **pod_programs.mounts()))
    eventually(lambda: sum(_phase(each) == "Running" for each in _many(limited)) == MANY, 120)
    with capsys.disabled():
        print(f"\n  {MANY} pods: {_memory(limited)}")
    # Opening a pipe for reading blocks until it is opened for writing.
    os.close(os.open(gate, os.O_WRONLY))
    eventually(lambda: sum(_phase(each) == "Succeeded" for each in _many(limited)) == MANY, 120)
    uids = [each["metadata"]["uid"] for each in _many(limited)]
    assert all(status["restartCount"] == 0 for each in _many(limited) for status in each["status"]["containerStatuses"])
    for name in names:
        limited.api.delete("pods", "default", name)
    eventually(lambda: not _many(limited), 120)
    eventually(lambda: not [uid for uid in uids if (limited.data / "node" / "pods" / uid).exists()], 120)
    left = [each for each in leak_detection.find_leaks(limited.data) if any(uid in each for uid in uids)]
    assert not left


def _many(cluster: LocalCluster) -> list[Object]:
    return [each for each in cluster.api.all("pods", "default") if each["metadata"]["name"].startswith("many-")]


def _phase(pod: Object) -> str:
    return str(pod["status"].get("phase"))


def _memory(cluster: LocalCluster) -> str:
    """The memory of the daemon, and the average of each shim and of each init process of a container."""
    shims = [json.loads(each.read_text())["pid"] for each in (cluster.data / "node" / "pods").glob("*/shim.json")]
    children = [int(pid) for shim in shims for pid in _text(f"/proc/{shim}/task/{shim}/children").split()]
    each = {"a shim": shims, "a container's first process": children}
    message = [f"{name} {sum(map(_pss, pids)) / max(len(pids), 1) / 1024:.2f} MB" for name, pids in each.items()]
    return f"daemon {_pss(cluster.pid) / 1024:.0f} MB, {', '.join(message)} (PSS)"


def _pss(pid: int) -> int:
    """KiB."""
    return next((int(line.split()[1]) for line in _text(f"/proc/{pid}/smaps_rollup").splitlines() if line.startswith("Pss:")), 0)


def _text(path: str) -> str:
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""
