"""Groups of processes: their limits, what they use, and their end all at once. Both versions of the kernel's interface."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass

from traincrew.embedded.kubelet.runtime.cgroups import entry as cgroups_entry
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory, Hierarchies, enable, write
from traincrew.embedded.kubelet.runtime.spec import Limits

_PERIOD = 100_000
_LEAST_QUOTA = 1_000
"""Microseconds; the kernel refuses less."""
_PATIENCE = 5.0
_SHARES_OF_A_CORE = 1024


@dataclass(frozen=True)
class CgroupUsage:
    cpu_seconds: float
    memory_bytes: int
    """Without the file cache that could be dropped at once, as a kubelet counts."""
    pids: int


def create_pod_cgroup(name: str, limits: Limits, ground: Hierarchies | None = None) -> Cgroup:
    """The group of a pod below this process's own; one that is there already is taken. Without any hierarchy it is empty,
    and so is everything made of it: what belongs to it runs without limits, and `why` says so.

    ground: as it was found earlier by a process of the same group; None: it is looked for now."""
    found = ground or hierarchies.discover()
    group = Cgroup(found.parts, found.why)
    for part in name.strip("/").split("/")[:-1]:
        # As with kubelets, all pods together weigh as much as the machine's cores: one that asks for nothing has little
        # beside other pods, but is not starved by everything else that runs here.
        group = group.make(part, Limits(cpu_shares=_SHARES_OF_A_CORE * (os.cpu_count() or 1)))
    return group.make(os.path.basename(name), limits)


class Cgroup:
    def __init__(self, parts: tuple[CgroupDirectory, ...], why: str = "") -> None:
        self._parts = parts
        self.why = why
        """What of the limits could not be had."""

    def make(self, name: str, limits: Limits) -> Cgroup:
        """A child; a hierarchy that refuses it goes without."""
        made: list[CgroupDirectory] = []
        refusals = [self.why] if self.why else []
        for part in self._parts:
            try:
                made.append(_child(part, name))
            except OSError as refusal:
                refusals.append(f"{part.directory}: {refusal.strerror}")
        group = Cgroup(tuple(made), "; ".join(refusals))
        group._limit(limits)
        return group

    def directories(self) -> tuple[str, ...]:
        return tuple(part.directory for part in self._parts)

    def entrances(self) -> list[int]:
        """What `entrances.join` takes: good wherever the root of the process has moved."""
        return [cgroups_entry.open_entry(part) for part in self._parts]

    def add(self, pid: int) -> None:
        """0: this process. Allocates and locks nothing, so it may be called between fork and exec."""
        for part in self._parts:
            write(f"{part.directory}/cgroup.procs", str(pid))

    def oom_kills(self) -> int:
        part = self._of("memory")
        if part is None:
            return 0
        return _fields(f"{part.directory}/{'memory.events' if part.unified else 'memory.oom_control'}").get("oom_kill", 0)

    def usage(self) -> CgroupUsage:
        return CgroupUsage(self._cpu_seconds(), self._memory(), self._pids())

    def processes(self) -> set[int]:
        """In this group and all below it, in any hierarchy."""
        return {
            pid for part in self._parts for folder, _, _ in os.walk(part.directory) for pid in _numbers(f"{folder}/cgroup.procs")
        }

    def kill(self) -> bool:
        """KILL to everybody, again and again while they fork; whether nobody is left."""
        for part in self._parts:
            if part.unified:
                with contextlib.suppress(OSError):
                    write(f"{part.directory}/cgroup.kill", "1")
        until = time.monotonic() + _PATIENCE
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def remove(self) -> bool:
        """With all groups below; whether nothing is left. Processes that are still there keep theirs."""
        until = time.monotonic() + _PATIENCE / 10
        while not all(_remove(part.directory) for part in self._parts):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True

    def remove_parents(self, levels: int) -> None:
        """The groups above, as long as nothing else is in them."""
        for part in self._parts:
            directory = part.directory
            for _ in range(levels):
                directory = os.path.dirname(directory)
                with contextlib.suppress(OSError):
                    os.rmdir(directory)

    def _limit(self, limits: Limits) -> None:
        for part in self._parts:
            for name, value in limit_files(part, limits):
                try:
                    write(f"{part.directory}/{name}", value)
                except FileNotFoundError:
                    continue
                except OSError as refusal:
                    self.why = "; ".join(filter(None, (self.why, f"{name} {value}: {refusal.strerror}")))

    def _of(self, controller: str) -> CgroupDirectory | None:
        return next((part for part in self._parts if controller in part.controllers), None)

    def _cpu_seconds(self) -> float:
        old = self._of("cpuacct")
        if old is not None:
            return sum(_numbers(f"{old.directory}/cpuacct.usage")) / 1e9
        unified = next((part for part in self._parts if part.unified), None)
        return _fields(f"{unified.directory}/cpu.stat").get("usage_usec", 0) / 1e6 if unified is not None else 0.0

    def _memory(self) -> int:
        part = self._of("memory")
        if part is None:
            return 0
        used, cache = ("memory.current", "inactive_file") if part.unified else ("memory.usage_in_bytes", "total_inactive_file")
        dropped = _fields(f"{part.directory}/memory.stat").get(cache, 0)
        return max(0, sum(_numbers(f"{part.directory}/{used}")) - dropped)

    def _pids(self) -> int:
        part = self._of("pids")
        counted = _numbers(f"{part.directory}/pids.current") if part is not None else []
        return counted[0] if counted else len(self.processes())


def _child(part: CgroupDirectory, name: str) -> CgroupDirectory:
    controllers = enable(part.directory) & part.controllers if part.unified else part.controllers
    child = CgroupDirectory(f"{part.directory}/{name}", controllers, part.unified)
    with contextlib.suppress(FileExistsError):
        os.mkdir(child.directory)
    return child


def limit_files(part: CgroupDirectory, limits: Limits) -> list[tuple[str, str]]:
    """In the order to be written."""
    quota = max(_LEAST_QUOTA, round(limits.cpu_quota * _PERIOD)) if limits.cpu_quota else 0
    shares = max(2, min(limits.cpu_shares, 262_144)) if limits.cpu_shares else 0
    found: dict[str, list[tuple[str, str]]] = {"cpu": [], "memory": [], "pids": []}
    if shares:
        weight = 1 + (shares - 2) * 9_999 // 262_142
        found["cpu"].append(("cpu.weight", str(weight)) if part.unified else ("cpu.shares", str(shares)))
    if quota and part.unified:
        found["cpu"].append(("cpu.max", f"{quota} {_PERIOD}"))
    elif quota:
        found["cpu"] += [("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(quota))]
    if limits.memory:
        found["memory"] += _memory_settings(part, str(limits.memory))
    if limits.pids:
        found["pids"].append(("pids.max", str(limits.pids)))
    return [setting for controller, settings in found.items() if controller in part.controllers for setting in settings]


def _memory_settings(part: CgroupDirectory, limit: str) -> list[tuple[str, str]]:
    """Swap would only put off what the limit is for."""
    if part.unified:
        return [("memory.max", limit), ("memory.swap.max", "0")]
    return [("memory.limit_in_bytes", limit), ("memory.memsw.limit_in_bytes", limit)]


def _fields(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="ascii") as lines:
            return {words[0]: int(words[1]) for words in (line.split() for line in lines) if len(words) == 2}
    except (OSError, ValueError):
        return {}


def _numbers(path: str) -> list[int]:
    try:
        with open(path, encoding="ascii") as file:
            return [int(word) for word in file.read().split() if word.isdecimal()]
    except OSError:
        return []


def _remove(directory: str) -> bool:
    try:
        for entry in list(os.scandir(directory)):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
        os.rmdir(directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
