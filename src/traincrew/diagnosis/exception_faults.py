"""The faults that exceptions of Python and C++ show."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from traincrew.diagnosis import native_exceptions, tracebacks
from traincrew.diagnosis.rank_streams import RankStream
from traincrew.diagnosis.recognizer import RecognizedFault, Recognizer, recognized_fault
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.tracebacks import PythonException

_ROWS = [each for each in RECOGNIZERS if each.place == "exception"]
_UNKNOWN = Recognizer("exception", "", place="exception")
_UNKNOWN_NATIVE = Recognizer("native-abort", "", "Check the message of the native library.", place="exception")


def of_python(streams: Sequence[RankStream]) -> list[RecognizedFault]:
    found = [(tracebacks.exceptions(stream.lines), stream.rank) for stream in streams]
    return [
        _of_exception(each, rank)
        for exceptions, rank in found
        for each in ([each for each in exceptions if each.fatal] or exceptions)
    ]


def without_traceback(streams: Sequence[RankStream]) -> list[RecognizedFault]:
    found = [(tracebacks.bare_exception(stream.lines), stream.rank) for stream in streams]
    return [_of_exception(exception, rank) for exception, rank in found if exception is not None]


def of_native_code(streams: Sequence[RankStream]) -> list[RecognizedFault]:
    found = ((each, stream.rank) for stream in streams for each in native_exceptions.exceptions(stream.lines))
    return [_of_exception(exception, rank, _UNKNOWN_NATIVE) for exception, rank in found]


def _of_exception(exception: PythonException, rank: int | None, unknown: Recognizer = _UNKNOWN) -> RecognizedFault:
    for recognizer in _ROWS:
        if match := recognizer.search(exception.text):
            return recognized_fault(recognizer, match.groupdict(), exception.summary, exception.evidence, (rank, exception.first))
    found = recognized_fault(unknown, {}, exception.summary, exception.evidence, (rank, exception.first))
    return found if unknown.advice else dataclasses.replace(found, advice=_check_frame(exception.frame))


def _check_frame(frame: str) -> str:
    """`Check line 3 of train.py.` for `File "train.py", line 3, in main`."""
    parts = frame.replace('"', "").removeprefix("File ").split(", ")
    return f"Check {parts[1]} of {parts[0]}." if len(parts) > 1 else "Check the log of the replica."
