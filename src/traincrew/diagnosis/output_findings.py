"""The faults that the output of one replica shows, the most significant first."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from traincrew.diagnosis import exception_faults, line_faults, survived_faults
from traincrew.diagnosis.rank_streams import RankStream, separate
from traincrew.diagnosis.readable_lines import readable
from traincrew.diagnosis.recognizer import EVIDENCE_LINES, RecognizedFault, Significance

LINES_BEFORE = 3
MAX_CACHED_CHARACTERS = 4096
"""The length of a termination message. While a job has failed pods, each of its plans asks for what ended them."""
_ORDER: tuple[Significance, ...] = ("cause", "report", "consequence")


def find(output: str, exit_code: int | None = None) -> RecognizedFault | None:
    """The most significant fault in an output; None if nothing is recognized."""
    return (_find_again if len(output) <= MAX_CACHED_CHARACTERS else _find)(output, exit_code)


def _find(output: str, exit_code: int | None) -> RecognizedFault | None:
    streams = separate(output)
    lines, exceptions = line_faults.find(streams), exception_faults.of_python(streams)
    reports = [each for each in (*(line.fault for line in lines), *exceptions) if each.significance == "report"]
    fatal, native = _fatal(exceptions, launcher=bool(reports)), exception_faults.of_native_code(streams)
    strong, others = line_faults.ending(lines, survived_faults.ProgramEnd(exit_code, (*fatal, *native), reports))
    found = [*strong, *fatal, *native, *others] or exception_faults.without_traceback(streams)
    best = _best(found, reports)
    return _described(best, output, streams, exceptions, reports) if best is not None else None


_find_again = functools.lru_cache(maxsize=256)(_find)


def _best(found: Sequence[RecognizedFault], reports: Sequence[RecognizedFault]) -> RecognizedFault | None:
    named = _named_rank(reports)
    return min(found, key=lambda each: (_order(each, reports, named), _is_other_rank(each, named)), default=None)


def _named_rank(reports: Sequence[RecognizedFault]) -> str | None:
    """The rank that a launcher says failed first."""
    return next((each.details["rank"] for each in reports if each.details.get("rank")), None)


def _described(
    best: RecognizedFault,
    output: str,
    streams: Sequence[RankStream],
    exceptions: Sequence[RecognizedFault],
    reports: Sequence[RecognizedFault],
) -> RecognizedFault:
    """With the rank, if the output is that of a launcher."""
    if best.significance == "report":
        return dataclasses.replace(best, rank=None, evidence=(*_before(best, output), *best.evidence)[-EVIDENCE_LINES:])
    named = _named_rank(reports)
    launcher = reports or len({stream.rank for stream in streams} - {None}) > 1
    if named is not None and best in exceptions and sum(each.significance != "report" for each in exceptions) == 1:
        return dataclasses.replace(best, rank=int(named))  # the only exception is that of the rank which the launcher names
    return best if launcher else dataclasses.replace(best, rank=None)


def _before(report: RecognizedFault, output: str) -> list[str]:
    """The last lines before the report of a launcher: what the process printed that it is about."""
    return readable(output.splitlines()[: report.line])[-LINES_BEFORE:]


def _order(finding: RecognizedFault, reports: Sequence[RecognizedFault], named: str | None) -> float:
    """A cause comes first, then the report of a launcher. An exception of the process that a report is about explains it.

    A process that was ended by a signal printed none: the exceptions beside such a report are those of other processes.
    """
    explains = finding.significance == "consequence" and reports and not any(each.details.get("number") for each in reports)
    if explains and not _is_other_rank(finding, named):
        return _ORDER.index("report") - 0.5
    return _ORDER.index(finding.significance)


def _is_other_rank(finding: RecognizedFault, named: str | None) -> bool:
    """Whether a launcher says that another rank than that of the finding failed first."""
    return named is not None and finding.rank is not None and str(finding.rank) != named


def _fatal(exceptions: Sequence[RecognizedFault], *, launcher: bool) -> list[RecognizedFault]:
    """The exceptions that may have ended a process.

    The output of a launcher has those of several processes, and the first of them comes first. A process may handle many
    exceptions and is ended by its last one.
    """
    if launcher:
        return sorted(exceptions, key=lambda each: each.line)
    ranks = {each.rank: each for each in sorted(exceptions, key=lambda each: each.line)}
    return sorted(ranks.values(), key=lambda each: each.line)
