"""Cases: real outputs of failed jobs with the diagnosis that must follow, one YAML file each under cases/."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pathlib
from typing import Any

import yaml

from traincrew.diagnosis.replica_end import ReplicaEnd

CASES = pathlib.Path(__file__).parent / "cases"
STATUS_BYTES = 2048
"""The bytes of output that Kubernetes keeps in the status of a pod: what the operator sees."""


@dataclasses.dataclass(frozen=True)
class DiagnosisCase:
    name: str
    origin: str
    """How the output came about: the version of the framework that ran here, or the public page that documents it."""
    ends: tuple[ReplicaEnd, ...]
    expected: dict[str, Any]

    @property
    def generated(self) -> bool:
        return not self.origin.startswith("http")


def load(path: pathlib.Path) -> DiagnosisCase:
    data = yaml.safe_load(path.read_text())
    ends = tuple(_end(entry) for entry in data.get("replicas") or ())
    return DiagnosisCase(path.stem, data.get("origin", ""), ends, data.get("expect") or {})


def _end(entry: dict[str, Any]) -> ReplicaEnd:
    ended = entry.get("ended")
    return ReplicaEnd(
        replica=entry["replica"],
        output=entry.get("output", ""),
        exit_code=entry.get("exitCode"),
        reason=entry.get("reason", ""),
        ended=dt.datetime.fromisoformat(ended) if isinstance(ended, str) else ended,
    )


def paths() -> list[pathlib.Path]:
    return sorted(CASES.glob("*.yaml"))


def seen_by_the_operator(ends: tuple[ReplicaEnd, ...]) -> tuple[ReplicaEnd, ...]:
    """With the end of each output that fits into the status of a pod."""
    return tuple(dataclasses.replace(end, output=end.output.encode()[-STATUS_BYTES:].decode(errors="ignore")) for end in ends)
