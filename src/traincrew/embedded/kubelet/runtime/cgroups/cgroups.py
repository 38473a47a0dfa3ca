"""cgroups of pods and containers: limits, usage, and killing all processes. Supports cgroup v1 and v2."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass

from traincrew.embedded.file_trees import walk
from traincrew.embedded.file_trees.cursor import OPEN_FLAGS, TreeCursor
from traincrew.embedded.kubelet.runtime.cgroups import entry as cgroups_entry
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory, Hierarchies, enable, write
from traincrew.embedded.kubelet.runtime.spec import Limits

_PERIOD = 100_000
_MIN_QUOTA = 1_000
"""Microseconds; the smallest quota that the kernel accepts."""
_KILL_SECONDS = 5.0
_SHARES_OF_A_CORE = 1024


@dataclass(frozen=True)
class CgroupUsage:
    cpu_seconds: float
    memory_bytes: int
    """The working set, as the kubelet counts: without inactive file cache."""
    pids: int


def create_pod_cgroup(name: str, limits: Limits, given: Hierarchies | None = None) -> Cgroup:
    """Creates the cgroup of a pod below this process's cgroup, or takes the existing one.

    Without any writable hierarchy the cgroup has no directory: its processes run without limits, and `warning` says why.
    found: hierarchies that a process of the same cgroup discovered earlier; None: discover them now.
    """
    hierarchies_found = given or hierarchies.discover()
    group = Cgroup(hierarchies_found.directories, hierarchies_found.warning)
    for part in name.strip("/").split("/")[:-1]:
        # As in the kubelet's kubepods cgroup, all pods together weigh as much as the machine's cores: a pod without
        # requests gets little beside other pods, but other processes of the machine do not starve it.
        group = group.create_child(part, Limits(cpu_shares=_SHARES_OF_A_CORE * (os.cpu_count() or 1)))
    return group.create_child(os.path.basename(name), limits)


class Cgroup:
    def __init__(self, directories: tuple[CgroupDirectory, ...], warning: str = "") -> None:
        self._directories = directories
        self.warning = warning
        """Which limits are not enforced, and why; empty: all are."""

    def create_child(self, name: str, limits: Limits) -> Cgroup:
        """Creates a child cgroup. A hierarchy that does not allow it is left out."""
        created: list[CgroupDirectory] = []
        warnings = [self.warning] if self.warning else []
        for parent in self._directories:
            try:
                created.append(_child(parent, name))
            except OSError as error:
                warnings.append(f"{parent.directory}: {error.strerror}")
        group = Cgroup(tuple(created), "; ".join(warnings))
        group._limit(limits)
        return group

    def directories(self) -> tuple[str, ...]:
        return tuple(entry.directory for entry in self._directories)

    def open_entries(self) -> list[int]:
        """Descriptors for `entry.join`. They work after a change of the root directory."""
        return [cgroups_entry.open_entry(entry) for entry in self._directories]

    def add(self, pid: int) -> None:
        """pid 0 is this process. Safe between fork and exec."""
        for entry in self._directories:
            write(f"{entry.directory}/cgroup.procs", str(pid))

    def oom_kills(self) -> int:
        entry = self._with("memory")
        if entry is None:
            return 0
        return _fields(f"{entry.directory}/{'memory.events' if entry.unified else 'memory.oom_control'}").get("oom_kill", 0)

    def usage(self) -> CgroupUsage:
        return CgroupUsage(self._cpu_seconds(), self._memory(), self._pids())

    def processes(self) -> set[int]:
        """Processes of this cgroup and its descendants, in all hierarchies."""
        return {pid for entry in self._directories for pid in processes_of(entry.directory)}

    def kill(self, seconds: float = _KILL_SECONDS) -> bool:
        """Kills every process, repeatedly while they fork. Returns whether none is left."""
        for entry in self._directories:
            if entry.unified:
                with contextlib.suppress(OSError):
                    write(f"{entry.directory}/cgroup.kill", "1")
        until = time.monotonic() + seconds
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def remove(self) -> bool:
        """Removes the cgroup and its descendants. Returns whether none is left: a cgroup with processes stays."""
        until = time.monotonic() + _KILL_SECONDS / 10
        while not all(_remove(entry.directory) for entry in self._directories):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True

    def remove_parents(self, levels: int) -> None:
        """Removes parent cgroups that are empty."""
        for entry in self._directories:
            directory = entry.directory
            for _ in range(levels):
                directory = os.path.dirname(directory)
                with contextlib.suppress(OSError):
                    os.rmdir(directory)

    def _limit(self, limits: Limits) -> None:
        for entry in self._directories:
            for name, value in limit_files(entry, limits):
                try:
                    write(f"{entry.directory}/{name}", value)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self.warning = "; ".join(filter(None, (self.warning, f"{name} {value}: {error.strerror}")))

    def _with(self, controller: str) -> CgroupDirectory | None:
        return next((entry for entry in self._directories if controller in entry.controllers), None)

    def _cpu_seconds(self) -> float:
        old = self._with("cpuacct")
        if old is not None:
            return sum(_numbers(f"{old.directory}/cpuacct.usage")) / 1e9
        unified = next((entry for entry in self._directories if entry.unified), None)
        return _fields(f"{unified.directory}/cpu.stat").get("usage_usec", 0) / 1e6 if unified is not None else 0.0

    def _memory(self) -> int:
        entry = self._with("memory")
        if entry is None:
            return 0
        used, cache = ("memory.current", "inactive_file") if entry.unified else ("memory.usage_in_bytes", "total_inactive_file")
        dropped = _fields(f"{entry.directory}/memory.stat").get(cache, 0)
        return max(0, sum(_numbers(f"{entry.directory}/{used}")) - dropped)

    def _pids(self) -> int:
        entry = self._with("pids")
        counted = _numbers(f"{entry.directory}/pids.current") if entry is not None else []
        return counted[0] if counted else len(self.processes())


def _child(parent: CgroupDirectory, name: str) -> CgroupDirectory:
    controllers = enable(parent.directory) & parent.controllers if parent.unified else parent.controllers
    child = CgroupDirectory(f"{parent.directory}/{name}", controllers, parent.unified)
    with contextlib.suppress(FileExistsError):
        os.mkdir(child.directory)
    return child


def limit_files(cgroup: CgroupDirectory, limits: Limits) -> list[tuple[str, str]]:
    """Files and values, in the order in which they must be written."""
    quota = max(_MIN_QUOTA, round(limits.cpu_quota * _PERIOD)) if limits.cpu_quota else 0
    shares = max(2, min(limits.cpu_shares, 262_144)) if limits.cpu_shares else 0
    files: dict[str, list[tuple[str, str]]] = {"cpu": [], "memory": [], "pids": []}
    if shares:
        weight = 1 + (shares - 2) * 9_999 // 262_142
        files["cpu"].append(("cpu.weight", str(weight)) if cgroup.unified else ("cpu.shares", str(shares)))
    if quota and cgroup.unified:
        files["cpu"].append(("cpu.max", f"{quota} {_PERIOD}"))
    elif quota:
        files["cpu"] += [("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(quota))]
    if limits.memory:
        files["memory"] += _memory_settings(cgroup, str(limits.memory))
    if limits.pids:
        files["pids"].append(("pids.max", str(limits.pids)))
    return [setting for controller, settings in files.items() if controller in cgroup.controllers for setting in settings]


def _memory_settings(cgroup: CgroupDirectory, limit: str) -> list[tuple[str, str]]:
    """Swap is set to zero: it would only delay the effect of the limit."""
    if cgroup.unified:
        return [("memory.max", limit), ("memory.swap.max", "0")]
    return [("memory.limit_in_bytes", limit), ("memory.memsw.limit_in_bytes", limit)]


def _fields(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="ascii") as lines:
            return {words[0]: int(words[1]) for words in (line.split() for line in lines) if len(words) == 2}
    except (OSError, ValueError):
        return {}


def _numbers(path: str, directory: int | None = None) -> list[int]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory), encoding="ascii") as file:
            return [int(word) for word in file.read().split() if word.isdecimal()]
    except OSError:
        return []


def processes_of(directory: str) -> set[int]:
    """Processes of a cgroup and its descendants, of any depth: a privileged container can create them."""
    found = set[int]()
    with contextlib.suppress(OSError):
        for each in walk.directories(directory):
            found.update(_numbers("cgroup.procs", each))
    return found


def _remove(directory: str) -> bool:
    """Removes a cgroup and its descendants, whose files cannot be removed. Returns whether none is left."""
    try:
        parent = os.open(os.path.dirname(directory), OPEN_FLAGS)
    except OSError:
        return not os.path.exists(directory)
    try:
        cursor = TreeCursor(parent)
        try:
            cursor.enter(os.path.basename(directory))
            _remove_below(cursor)
        finally:
            cursor.close()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(parent)
    return True


def _remove_below(cursor: TreeCursor) -> None:
    while cursor.depth:
        with os.scandir(cursor.directory) as entries:
            inner = next((entry.name for entry in entries if entry.is_dir(follow_symlinks=False)), "")
        if inner:
            cursor.enter(inner)
        else:
            os.rmdir(cursor.leave(), dir_fd=cursor.directory)
