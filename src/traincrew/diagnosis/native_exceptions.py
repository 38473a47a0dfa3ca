"""Exceptions of C++ that no code handles: the runtime prints type and message, and aborts the process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from traincrew.diagnosis.rank_streams import OutputLine
from traincrew.diagnosis.tracebacks import MESSAGE_LINES, PythonException, ends_message

_TERMINATE = re.compile(r"^terminate called after throwing an instance of '(?P<type>[^']+)'")
_WHAT = re.compile(r"^\s*what\(\): +")


def exceptions(lines: Sequence[OutputLine]) -> list[PythonException]:
    """Like those of Python, with the type of C++ in front of the message."""
    found = ((position, _TERMINATE.match(line.text)) for position, line in enumerate(lines))
    return [_exception(match["type"], lines, position) for position, match in found if match is not None]


def _exception(type: str, lines: Sequence[OutputLine], position: int) -> PythonException:
    first, message = lines[position], list[str]()
    for line in lines[position + 1 : position + 1 + MESSAGE_LINES]:
        if not line.text.strip() or ends_message(line.text) or _TERMINATE.match(line.text):
            break
        message.append(line.text.rstrip())
    if not message or not _WHAT.match(message[0]):  # without a message, or that of something else
        return PythonException(type, "", "", first.number, output=(first.text,))
    text = "\n".join((f"{type}: {_WHAT.sub('', message[0])}", *message[1:]))
    return PythonException(text, "", "", first.number, output=(first.text, *message))
