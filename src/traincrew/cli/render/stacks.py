"""The page of `traincrew stacks`: the Python stacks of the replicas of a job."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class StackFrame:
    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})"


@dataclasses.dataclass(frozen=True)
class StackThread:
    name: str
    active: bool
    """Whether it uses a CPU, or waits outside of Python."""
    frames: tuple[StackFrame, ...]
    """The innermost first."""


@dataclasses.dataclass(frozen=True)
class ProcessStacks:
    pid: int
    """In the container."""
    command: str
    threads: tuple[StackThread, ...] = ()
    text: str = ""
    """The stacks as `faulthandler` prints them."""
    problem: str = ""
    """Why there are no stacks, and what to do."""


@dataclasses.dataclass(frozen=True)
class ReplicaStacks:
    replica: str
    pod: str
    processes: tuple[ProcessStacks, ...] = ()
    problem: str = ""
    """Why there are no stacks of any process, and what to do."""

    def main_thread(self) -> tuple[str, ...]:
        """The frames of the main thread of the replica's last process: launchers such as torchrun start the others."""
        for process in reversed(self.processes):
            if process.threads:
                return tuple(str(frame) for frame in process.threads[0].frames)
        return ()


def parse_py_spy(text: str) -> tuple[StackThread, ...]:
    """The output of `py-spy dump --json`, the main thread first. Raise ValueError if it is something else."""
    found: list[dict[str, Any]] = json.loads(text)
    threads = sorted(found, key=lambda each: each["os_thread_id"] or 0)
    return tuple(
        StackThread(
            each.get("thread_name") or ("MainThread" if index == 0 else f"thread {each['os_thread_id']}"),
            bool(each["active"]),
            tuple(StackFrame(frame["name"], _short(frame["filename"]), frame["line"]) for frame in each["frames"]),
        )
        for index, each in enumerate(threads)
    )


def _short(path: str) -> str:
    """`torch/distributed/distributed_c10d.py` of a path in site-packages; the name of other files."""
    for directory in ("site-packages/", "dist-packages/"):
        if directory in path:
            return path.rpartition(directory)[2]
    return posixpath.basename(path) if not re.search(r"/lib/python[\d.]+/", path) else re.split(r"/lib/python[\d.]+/", path)[-1]


def text(replicas: Sequence[ReplicaStacks]) -> str:
    """Replicas whose stacks cannot be read for the same reason share a line, after the stacks."""
    problems: dict[str, list[str]] = {}
    for each in replicas:
        if each.problem:
            problems.setdefault(each.problem, []).append(each.replica)
    lines = [line for replica in replicas if not replica.problem for line in _replica_lines(replica)]
    return "\n".join([*lines, *(f"{', '.join(names)}: {problem}" for problem, names in problems.items())])


def _replica_lines(replica: ReplicaStacks) -> list[str]:
    lines = [f"{replica.replica} (pod {replica.pod})"]
    for process in replica.processes:
        lines.append(f"  process {process.pid}: {process.command}")
        if process.problem:
            lines.append(f"    {process.problem}")
        lines += [f"    {line}" for line in process.text.splitlines()]
        for thread in process.threads:
            lines.append(f"    {thread.name} ({'active' if thread.active else 'idle'})")
            lines += [f"      {frame}" for frame in thread.frames]
    return [*lines, ""]


def as_json(replicas: Sequence[ReplicaStacks]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(replica) for replica in replicas]
