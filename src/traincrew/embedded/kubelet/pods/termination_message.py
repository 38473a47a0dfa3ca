"""The end of a container's log, for its termination message."""

from __future__ import annotations

import pathlib

from traincrew.embedded.kubelet.logs import cri_format
from traincrew.embedded.kubelet.logs.cursor import LogCursor

LINES, BYTES = 80, 2048


def read(directory: pathlib.Path, attempt: int) -> str:
    cursor = LogCursor(directory, attempt)
    try:
        cursor.to_tail(LINES)
        shown, text = cri_format.LogFormatter(), b""
        while lines := cursor.lines():
            text += shown.feed(lines)
    except FileNotFoundError:
        return ""
    finally:
        cursor.close()
    return text[-BYTES:].decode(errors="replace")
