"""Faults that a program may survive: whether one of them has ended it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from traincrew.diagnosis.rank_streams import RankStream
from traincrew.diagnosis.recognizer import FatalIf, RecognizedFault


@dataclasses.dataclass(frozen=True)
class ProgramEnd:
    """What the output and the container show about the end of a program."""

    exit_code: int | None
    exceptions: Sequence[RecognizedFault]
    """The exceptions that may have ended it."""
    reports: Sequence[RecognizedFault]
    """Of launchers."""


def is_fatal(sign: FatalIf, fault: RecognizedFault, stream: RankStream, end: ProgramEnd) -> bool:
    raised = [each for each in end.exceptions if each.significance != "report"]
    if sign.exceptions and raised:
        return any(re.search(sign.exceptions, "\n".join((each.cause, *each.evidence))) for each in raised)
    following = [each for each in end.reports if each.line > fault.line]
    return _has_exit_code(sign, following, end.exit_code) or _is_last(sign, fault, stream, following)


def _has_exit_code(sign: FatalIf, reports: Sequence[RecognizedFault], code: int | None) -> bool:
    if not sign.exit_codes:
        return False
    reported = {each.details["code"] for each in reports if each.details.get("code")}
    # A launcher that cannot start its daemons reports no exit code.
    return code in sign.exit_codes or bool(reported & set(map(str, sign.exit_codes))) or (bool(reports) and not reported)


def _is_last(sign: FatalIf, fault: RecognizedFault, stream: RankStream, reports: Sequence[RecognizedFault]) -> bool:
    """Whether the program printed few lines after it. The report of a launcher is not the output of the program."""
    end = min((each.line for each in reports), default=None)
    after = [line for line in stream.lines if line.number > fault.last_line and (end is None or line.number < end)]
    if sign.exceptions:  # stack traces of C++ name the library in their frames
        about = [position for position, line in enumerate(after) if re.search(sign.exceptions, line.text)]
        after = after[about[-1] + 1 :] if about else after
    return sum(bool(line.text.strip()) for line in after) <= sign.lines_after
