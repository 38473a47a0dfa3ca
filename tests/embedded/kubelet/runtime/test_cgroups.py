"""Cgroups in the hierarchies of this machine. The unified hierarchy may have some controllers only."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from tests.embedded.file_trees.hostile_trees import dig
from tests.embedded.kubelet.runtime.rootfs_harness import rootfs_harness

from traincrew.embedded.kubelet.runtime import fork, host_mounts
from traincrew.embedded.kubelet.runtime.cgroups import cgroups, entry, hierarchies
from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory
from traincrew.embedded.kubelet.runtime.spec import Isolation, Limits

_GROUND = hierarchies.discover()
_HAD = {name for part in _GROUND.directories for name in part.controllers}


def needs(controller: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(controller not in _HAD, reason=_GROUND.warning or f"no hierarchy offers {controller}")


pytestmark = pytest.mark.skipif(not _GROUND.directories, reason=_GROUND.warning)


@pytest.fixture
def pod() -> Iterator[Cgroup]:
    name = f"traincrew-test-{uuid.uuid4().hex}"
    group = cgroups.create_pod_cgroup(f"{name}/pod", Limits())
    yield group
    assert group.kill()
    assert group.remove()
    group.remove_parents(1)
    assert not [path for path in group.directories() if os.path.exists(os.path.dirname(path))]


def start_in(group: Cgroup, *argv: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, preexec_fn=joining(group), stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)


def joining(group: Cgroup) -> Callable[[], None]:
    return lambda: group.add(0)


@needs("memory")
def test_a_process_beyond_the_memory_limit_is_killed_and_counted(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits(memory=64 << 20))

    process = start_in(group, sys.executable, "-c", "held = bytearray(512 << 20)")

    assert process.wait() == -9
    process.communicate()
    assert group.oom_kills() == 1
    assert group.warning == ""


@needs("memory")
def test_an_oom_kill_of_a_child_is_counted_whatever_the_exit_code_of_its_parent(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits(memory=64 << 20))

    process = start_in(group, "sh", "-c", f"{sys.executable} -c 'bytearray(512 << 20)'; exit 0")

    assert process.wait() == 0
    process.communicate()
    assert group.oom_kills() == 1


@needs("memory")
def test_an_oom_kill_counts_for_its_container_only(pod: Cgroup) -> None:
    starved, other = pod.create_child("starved", Limits(memory=64 << 20)), pod.create_child("other", Limits(memory=64 << 20))

    start_in(starved, sys.executable, "-c", "held = bytearray(512 << 20)").communicate()

    assert (starved.oom_kills(), other.oom_kills()) == (1, 0)


@needs("memory")
def test_the_limit_of_the_pod_applies_to_its_containers() -> None:
    group = cgroups.create_pod_cgroup(f"traincrew-test-{uuid.uuid4().hex}", Limits(memory=64 << 20))
    main = group.create_child("main", Limits())

    process = start_in(main, sys.executable, "-c", "held = bytearray(512 << 20)")
    process.communicate()

    assert (process.returncode, main.oom_kills()) == (-9, 1)
    assert group.remove()


@needs("pids")
def test_processes_beyond_the_limit_are_rejected(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits(pids=5))
    script = "import os\nfor n in range(20):\n  if os.fork() == 0: os.read(0, 1); os._exit(0)"

    process = subprocess.Popen(
        [sys.executable, "-c", script], preexec_fn=joining(group), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.wait() != 0

    assert group.usage().pids == 4
    assert group.kill()
    assert process.stderr is not None
    assert b"BlockingIOError" in process.stderr.read()
    process.communicate()


@needs("cpu")
def test_a_cpu_quota_is_enforced(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits(cpu_quota=0.1))
    script = "import time; end = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"

    start_in(group, sys.executable, "-c", script).communicate()

    # Without the quota the process would use 1.5 seconds, if a core is idle.
    assert 0 < group.usage().cpu_seconds < 0.5


def test_every_process_is_killed_even_while_they_fork(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits(pids=50))
    process = start_in(group, "sh", "-c", "while :; do (setsid sleep 1000 &) ; done")
    while group.usage().pids < 5:
        pass

    assert group.kill()

    assert process.wait() == -9
    process.communicate()
    assert group.processes() == set()


def test_a_process_joins_through_an_open_descriptor(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits())
    ways = group.open_entries()
    process = subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: entry.join(ways))

    assert [_members(directory) for directory in group.directories()] == [{process.pid}] * len(ways)
    process.kill()
    process.wait()
    for descriptor in ways:
        os.close(descriptor)


@pytest.mark.skipif(not any(each.unified for each in _GROUND.directories), reason="no unified hierarchy")
def test_a_process_starts_in_its_cgroup(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits())
    ways = group.open_entries()
    born = fork.fork_child(lambda: time.sleep(1000), entry.clone_target(ways))

    assert group.processes() == {born}
    os.kill(born, signal.SIGKILL)
    assert os.waitpid(born, 0)[1] == signal.SIGKILL
    for descriptor in ways:
        os.close(descriptor)


def test_a_process_starts_even_if_its_cgroup_is_invalid() -> None:
    with tempfile.TemporaryDirectory() as nowhere:
        descriptor = os.open(nowhere, os.O_RDONLY)
        born = fork.fork_child(lambda: None, descriptor)
        os.close(descriptor)

    assert os.waitpid(born, 0)[1] == 0


def _members(directory: str) -> set[int]:
    return {int(word) for word in pathlib.Path(directory, "cgroup.procs").read_text().split()}


def test_usage_counts_memory(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits())
    process = start_in(group, sys.executable, "-c", "held = bytearray(b'x') * (50 << 20); print('x', flush=True); input()")
    assert process.stdout is not None
    process.stdout.read(1)

    usage = group.usage()

    assert usage.cpu_seconds > 0
    assert usage.pids == 1
    if "memory" in _HAD:
        assert 50 << 20 < usage.memory_bytes < 200 << 20
    group.kill()
    process.communicate()


def test_an_existing_cgroup_is_reused(pod: Cgroup) -> None:
    first, second = pod.create_child("main", Limits()), pod.create_child("main", Limits())

    assert first.directories() == second.directories()


def test_a_busy_cgroup_is_not_removed(pod: Cgroup) -> None:
    group = pod.create_child("main", Limits())
    process = start_in(group, "sleep", "1000")

    assert not group.remove()

    group.kill()
    process.communicate()
    assert group.remove()


@needs("pids")
def test_processes_of_a_very_deep_cgroup_are_killed_and_the_cgroup_is_removed(pod: Cgroup) -> None:
    """A privileged container can create cgroups in its own."""
    (hierarchy,) = [each for each in _GROUND.directories if "pids" in each.controllers]
    (top,) = [each for each in pod.directories() if each.startswith(f"{hierarchy.directory}/")]
    dig(pathlib.Path(top), 1100)
    process = subprocess.Popen(["sleep", "1000"])
    cgroup_file = os.open(pathlib.Path(top, *["d"] * 1100, "cgroup.procs"), os.O_WRONLY)
    os.write(cgroup_file, str(process.pid).encode())
    os.close(cgroup_file)

    assert pod.kill()

    assert process.wait() == -9
    assert pod.remove()


@needs("memory")
@pytest.mark.parametrize("level", [Isolation.ROOT, Isolation.USER])
def test_a_container_sees_its_own_limits_and_cannot_change_them(pod: Cgroup, level: Isolation) -> None:
    group = pod.create_child("main", Limits(memory=64 << 20))
    ways = group.open_entries()
    file = "memory/memory.limit_in_bytes" if not group_is_unified(group) else "memory.max"
    with rootfs_harness(level) as harness:
        outcome = harness.run(f"cat /sys/fs/cgroup/{file}; echo 999999999 > /sys/fs/cgroup/{file}", entrances=tuple(ways))
    for descriptor in ways:
        os.close(descriptor)

    assert outcome.words[0] == str(64 << 20)
    assert "Read-only file system" in outcome.out


def group_is_unified(group: Cgroup) -> bool:
    return len(group.directories()) == 1


def test_without_any_hierarchy_there_are_no_limits() -> None:
    group = Cgroup((), "no limits").create_child("main", Limits(memory=1))
    group.add(0)

    assert group.open_entries() == []
    assert (group.usage(), group.oom_kills()) == (cgroups.CgroupUsage(0.0, 0, 0), 0)
    assert group.kill()
    assert group.remove()
    assert group.warning == "no limits"


def test_a_read_only_hierarchy_is_reported_with_the_reason(tmp_path: pathlib.Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("4:memory:/\n0::/\n")
    mounts = (
        host_mounts.HostMount(1, 0, "/proc/self", "cgroup", True, "/", "rw,memory"),
        host_mounts.HostMount(2, 0, "/proc/self", "cgroup2", True, "/", "rw"),
    )

    ground = hierarchies.discover(str(own), mounts)

    assert ground.directories == ()
    assert ground.missing == ("cpu", "memory", "pids")
    assert ground.warning.startswith("no limits for cpu, memory, pids: /proc/self is not writable: ")
    assert ground.warning.endswith(f"({hierarchies.remedy(os.geteuid(), os.environ)})")


def test_a_user_bus_is_needed_for_delegated_cgroups(tmp_path: pathlib.Path) -> None:
    session = {"XDG_RUNTIME_DIR": str(tmp_path)}
    without = hierarchies.remedy(1000, session, str(tmp_path))
    (tmp_path / "bus").touch()

    assert hierarchies.remedy(1000, session, str(tmp_path)) == f"run `{hierarchies.DELEGATED}` to get delegated cgroups"
    assert without.startswith("log in with ssh or at a terminal, as su opens no session")
    assert hierarchies.remedy(1000, {}, str(tmp_path)) == without
    assert hierarchies.remedy(1000, session, str(tmp_path / "none")).startswith("run `traincrew up` as root")
    assert hierarchies.remedy(0, session, str(tmp_path)) == "in a container, mount the cgroups writable"


class TestUnified:
    """In the cgroup2 hierarchy, with the limits of its available controllers."""

    @pytest.fixture
    def pod(self) -> Iterator[Cgroup]:
        part = next((part for part in _GROUND.directories if part.unified), None)
        if part is None:
            pytest.skip("no cgroup2 mount that can be written")
        group = Cgroup((part,)).create_child(f"traincrew-test-{uuid.uuid4().hex}", Limits())
        yield group
        assert group.kill()
        assert group.remove()

    def test_all_processes_are_killed_at_once_and_counted(self, pod: Cgroup) -> None:
        group = pod.create_child("main", Limits())
        process = start_in(group, "sh", "-c", "for n in 1 2 3; do sleep 1000 & done; echo x; wait")
        assert process.stdout is not None
        process.stdout.read(1)
        assert group.usage().pids == 4

        assert pod.kill()
        assert process.wait() == -9
        process.communicate()
        assert group.usage().pids == 0

    def test_cpu_time_is_accounted(self, pod: Cgroup) -> None:
        group = pod.create_child("main", Limits())
        start_in(group, sys.executable, "-c", "sum(range(3_000_000))").communicate()

        assert group.usage().cpu_seconds > 0.01

    def test_limits_are_written_for_available_controllers(self, pod: Cgroup) -> None:
        group = pod.create_child("main", Limits(cpu_shares=1024, cpu_quota=1.5, memory=100 << 20, pids=7))
        (directory,) = group.directories()

        assert group.warning == ""
        for name, value in (
            ("cpu.max", "150000 100000"),
            ("memory.max", str(100 << 20)),
            ("pids.max", "7"),
            ("cpu.weight", "39"),
        ):
            file = pathlib.Path(directory, name)
            if file.exists():
                assert file.read_text().strip() == value


def test_the_files_of_the_unified_hierarchy() -> None:
    part = CgroupDirectory("/none", frozenset({"cpu", "memory", "pids"}), unified=True)

    files = cgroups.limit_files(part, Limits(cpu_shares=1024, cpu_quota=0.5, memory=1 << 20, pids=9))

    assert files == [
        ("cpu.weight", "39"),
        ("cpu.max", "50000 100000"),
        ("memory.max", "1048576"),
        ("memory.swap.max", "0"),
        ("pids.max", "9"),
    ]
