"""The faults that lines of an output show, other than exceptions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from traincrew.diagnosis import survived_faults
from traincrew.diagnosis.rank_streams import OutputLine, RankStream
from traincrew.diagnosis.readable_lines import readable
from traincrew.diagnosis.recognizer import RecognizedFault, Recognizer, recognized_fault
from traincrew.diagnosis.recognizers import RECOGNIZERS

_ROWS = [each for each in RECOGNIZERS if each.place == "line"]


class LineFault(NamedTuple):
    recognizer: Recognizer
    stream: RankStream
    fault: RecognizedFault


def find(streams: Sequence[RankStream]) -> list[LineFault]:
    """In the order of the table."""
    return [fault for recognizer in _ROWS for fault in _matches(recognizer, streams)]


def ending(found: Sequence[LineFault], end: survived_faults.ProgramEnd) -> tuple[list[RecognizedFault], list[RecognizedFault]]:
    """In the order of the table: findings that are stronger than an exception, and the others; none that the program survived."""
    strong, others = list[RecognizedFault](), list[RecognizedFault]()
    for recognizer, stream, finding in found:
        if recognizer.fatal_if is None or survived_faults.is_fatal(recognizer.fatal_if, finding, stream, end):
            (strong if recognizer.before_exceptions else others).append(finding)
    return strong, others


def _matches(recognizer: Recognizer, streams: Sequence[RankStream]) -> Iterator[LineFault]:
    for stream in streams:
        text = stream.text
        if match := recognizer.search(text):
            start = match.start("message") if match.groupdict().get("message") else match.start()
            first, last = text.count("\n", 0, start), text.count("\n", 0, max(match.end() - 1, start))
            lines = stream.lines[first : max(last + 1, first + recognizer.evidence_lines)]
            found = recognized_fault(
                recognizer, match.groupdict(), _first_text(lines), _texts(lines), (stream.rank, lines[0].number)
            )
            yield LineFault(recognizer, stream, dataclasses.replace(found, last_line=stream.lines[last].number))


def _first_text(lines: Sequence[OutputLine]) -> str:
    return next((line.text.strip() for line in lines if line.text.strip()), "")


def _texts(lines: Sequence[OutputLine]) -> tuple[str, ...]:
    return tuple(readable(line.text for line in lines))
