"""The faults that the output of one replica shows, the most significant first."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

from traincrew.diagnosis import tracebacks
from traincrew.diagnosis.rank_streams import OutputLine, RankStream, separate
from traincrew.diagnosis.readable_lines import readable, shortened
from traincrew.diagnosis.recognizer import RecognizedFault, Recognizer, Significance
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.tracebacks import PythonException

EVIDENCE_LINES = 8
LINES_BEFORE = 3
MAX_CACHED_CHARACTERS = 4096
"""The length of a termination message. While a job has failed pods, each of its plans asks for what ended them."""
_ORDER: tuple[Significance, ...] = ("cause", "report", "consequence")
_LINES = [each for each in RECOGNIZERS if each.place == "line"]
_EXCEPTIONS = [each for each in RECOGNIZERS if each.place == "exception"]
_UNKNOWN = Recognizer("exception", "", place="exception")


def find(output: str) -> RecognizedFault | None:
    """The most significant fault in an output; None if nothing is recognized."""
    return _find_again(output) if len(output) <= MAX_CACHED_CHARACTERS else _find(output)


@functools.lru_cache(maxsize=256)
def _find_again(output: str) -> RecognizedFault | None:
    return _find(output)


def _find(output: str) -> RecognizedFault | None:
    streams = separate(output)
    strong, others = _in_lines(streams)
    exceptions = [finding for stream in streams for finding in _in_exceptions(stream)]
    reports = [each for each in (*strong, *others, *exceptions) if each.significance == "report"]
    found = [*strong, *_fatal(exceptions, launcher=bool(reports)), *others]
    named = next((each.details["rank"] for each in reports if each.details.get("rank")), None)
    found = found or _in_bare_exceptions(streams)
    best = min(found, key=lambda each: (_order(each, reports, named), _is_other_rank(each, named)), default=None)
    if best is None:
        return None
    if best.significance == "report":
        return dataclasses.replace(best, rank=None, evidence=(*_before(best, output), *best.evidence)[-EVIDENCE_LINES:])
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


def _in_exceptions(stream: RankStream) -> list[RecognizedFault]:
    found = tracebacks.exceptions(stream.lines)
    fatal = [each for each in found if each.fatal] or found
    return [_of_exception(each, stream.rank) for each in fatal]


def _in_bare_exceptions(streams: Sequence[RankStream]) -> list[RecognizedFault]:
    found = [(tracebacks.bare_exception(stream.lines), stream.rank) for stream in streams]
    return [_of_exception(exception, rank) for exception, rank in found if exception is not None]


def _of_exception(exception: PythonException, rank: int | None) -> RecognizedFault:
    for recognizer in _EXCEPTIONS:
        if match := recognizer.search(exception.text):
            return _finding(recognizer, match.groupdict(), exception.summary, exception.evidence, (rank, exception.first))
    advice = _check_frame(exception.frame)
    found = _finding(_UNKNOWN, {}, exception.summary, exception.evidence, (rank, exception.first))
    return RecognizedFault(found.recognizer, found.cause, found.evidence, advice, "cause", {}, rank, exception.first)


def _check_frame(frame: str) -> str:
    """`Check line 3 of train.py.` for `File "train.py", line 3, in main`."""
    parts = frame.replace('"', "").removeprefix("File ").split(", ")
    return f"Check {parts[1]} of {parts[0]}." if len(parts) > 1 else "Check the log of the replica."


def _in_lines(streams: Sequence[RankStream]) -> tuple[list[RecognizedFault], list[RecognizedFault]]:
    """In the order of the table: findings that are stronger than an exception, and the others."""
    found = [(recognizer, finding) for recognizer in _LINES for finding in _matches(recognizer, streams)]
    strong = [finding for recognizer, finding in found if recognizer.before_exceptions]
    return strong, [finding for recognizer, finding in found if not recognizer.before_exceptions]


def _matches(recognizer: Recognizer, streams: Sequence[RankStream]) -> Iterator[RecognizedFault]:
    for stream in streams:
        text = stream.text
        if match := recognizer.search(text):
            start = match.start("message") if match.groupdict().get("message") else match.start()
            first, last = text.count("\n", 0, start), text.count("\n", 0, max(match.end() - 1, start))
            lines = stream.lines[first : max(last + 1, first + recognizer.evidence_lines)]
            yield _finding(recognizer, match.groupdict(), _first_text(lines), _texts(lines), (stream.rank, lines[0].number))


def _first_text(lines: Sequence[OutputLine]) -> str:
    return next((line.text.strip() for line in lines if line.text.strip()), "")


def _texts(lines: Sequence[OutputLine]) -> tuple[str, ...]:
    return tuple(readable(line.text for line in lines))


def _finding(
    recognizer: Recognizer, groups: dict[str, str | None], text: str, evidence: Sequence[str], place: tuple[int | None, int]
) -> RecognizedFault:
    details = {name: " ".join(value.split()) for name, value in groups.items() if value is not None}
    known = {name: details.get(name, "") for name in groups}
    cause = " ".join(recognizer.cause.format(**known).split()) if recognizer.cause else text
    advice = recognizer.advice.format(**known) if recognizer.advice else ""
    lines = tuple(evidence[:EVIDENCE_LINES])
    return RecognizedFault(recognizer.name, shortened(cause), lines, advice, recognizer.significance, details, *place)
