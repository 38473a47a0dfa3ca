"""Failures after which torchrun restarts its workers. It goes on, so its container does not end."""

from __future__ import annotations

import dataclasses
import re

from traincrew.diagnosis import output_findings

_FAILED = re.compile(r"\bfailed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<rank>\d+) \(pid: \d+\) of binary: .*")


@dataclasses.dataclass(frozen=True)
class WorkerRestarts:
    count: int
    cause: str
    """Of the last failure."""
    evidence: tuple[str, ...]
    is_consequence: bool
    """Whether the last failure came from another replica, as when a worker has left."""


@dataclasses.dataclass(frozen=True)
class ReplicaRestarts:
    replica: str
    found: WorkerRestarts
    is_complete: bool
    """Whether the whole log was read."""

    @property
    def sentence(self) -> str:
        times = f"{self.found.count} {'time' if self.found.count == 1 else 'times'}"
        least = "" if self.is_complete else "at least "
        return f"torchrun has restarted its workers {least}{times}; the last failure: {self.found.cause} ({self.replica})"


def find(output: str) -> WorkerRestarts | None:
    """In the output of a torchrun that still runs. None: it has not restarted its workers."""
    reports = list(_FAILED.finditer(output))
    if not reports:
        return None
    begin = reports[-2].end() if len(reports) > 1 else 0
    found = output_findings.find(output[begin : reports[-1].start()].rpartition("\n")[0])
    if found is None:
        cause = f"local rank {reports[-1]['rank']} exited with code {reports[-1]['code']}"
        return WorkerRestarts(len(reports), cause, (reports[-1][0],), is_consequence=False)
    return WorkerRestarts(len(reports), found.cause, found.evidence, found.significance == "consequence")
