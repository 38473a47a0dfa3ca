"""Why a job failed: which replica failed first, of what, and which replicas failed because of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from traincrew.diagnosis import exit_codes, output_findings, readable_lines
from traincrew.diagnosis.readable_lines import last_lines
from traincrew.diagnosis.recognizer import RecognizedFault
from traincrew.diagnosis.replica_end import ReplicaEnd

LAST_LINES = 5
UNKNOWN = "unknown"
SILENT = "it printed nothing"
_ORDER = {"cause": 0, "report": 1, UNKNOWN: 1, "consequence": 2}


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    replica: str
    """The replica that failed first."""
    cause: str
    """One line. Empty: its output is not known, and its exit code says nothing."""
    evidence: tuple[str, ...] = ()
    """Lines of its output."""
    victims: tuple[str, ...] = ()
    """Replicas that failed because of it."""
    advice: str = ""
    """What to do, in the imperative; may be empty."""
    recognizer: str = UNKNOWN
    """The recognizer that found the cause."""
    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What the recognizer read, such as the name of a missing module."""


def diagnose(ends: Sequence[ReplicaEnd], recorded: str = "") -> Diagnosis | None:
    """None: no replica failed.

    recorded: the replica whose failure the status of the job names. It is preferred to others that are as likely, so that every
    command names the same one: several replicas may fail in the same second.
    """
    examined = [(end, examine(end)) for end in ends if end.exit_code != 0 or end.reason in exit_codes.REASONS]
    if not examined:
        return None
    first, finding = min(examined, key=lambda each: _order(each[0], each[1], recorded))
    return Diagnosis(
        replica=first.replica,
        cause=describe(finding),
        evidence=finding.evidence,
        victims=tuple(end.replica for end, other in examined if other.significance == "consequence" and end is not first),
        advice=finding.advice,
        recognizer=finding.recognizer,
        details=finding.details,
    )


def describe(finding: RecognizedFault) -> str:
    """The cause in one line, with the rank if the output is that of a launcher."""
    return finding.cause if finding.rank is None else f"rank {finding.rank}: {finding.cause}"


def _order(end: ReplicaEnd, finding: RecognizedFault, recorded: str) -> tuple[int, bool, str, str]:
    """The most likely cause first; of equally likely ones the recorded one, else the one that ended first."""
    return _ORDER[finding.significance], end.replica != recorded, end.ended.isoformat() if end.ended else "", end.replica


def examine(end: ReplicaEnd) -> RecognizedFault:
    """What ended one replica, without knowledge of the others."""
    if (known := exit_codes.by_reason(end)) is not None:
        return known
    found = output_findings.find(end.output, end.exit_code)
    by_signal = exit_codes.by_signal(end)
    # A process that was killed may have survived the loss of another one before.
    if found is not None and (found.significance != "consequence" or by_signal is None or by_signal.significance != "cause"):
        return found
    if by_signal is not None:
        return dataclasses.replace(by_signal, evidence=tuple(last_lines(end.output, LAST_LINES)))
    lines = last_lines(end.output, LAST_LINES)
    last = readable_lines.quote_last_line(lines[-1]) if lines else SILENT if end.silent else ""
    return RecognizedFault(UNKNOWN, last, tuple(lines), exit_codes.advice(end.exit_code, silent=end.silent), "report")
