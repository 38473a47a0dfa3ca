"""The body of a watch: one JSON object per line, in chunks of any size."""

from __future__ import annotations

from typing import cast

import msgspec

from traincrew import errors
from traincrew.apimachinery import json_nesting
from traincrew.client import interfaces, status_errors


class Lines:
    """Complete lines from chunks. Each byte is scanned once and copied at most twice, however long the line is."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        *ended, rest = chunk.split(b"\n")
        if ended and self._begun:
            ended[0] = b"".join((*self._begun, ended[0]))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        return [line for line in ended if line]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decoder = msgspec.json.Decoder(_Event)
_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


def bookmark(resource_version: str) -> interfaces.WatchEvent:
    return interfaces.WatchEvent("BOOKMARK", msgspec.json.encode({"metadata": {"resourceVersion": resource_version}}))


def change(line: bytes) -> interfaces.WatchEvent | None:
    """The change of a line. None: the type of event is not known. Raises ApiError for an ERROR event."""
    try:
        event = json_nesting.decode(_decoder.decode, line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.ServerError("the watch sent a line that is not an event") from error
    if event.type in _CHANGES:
        return interfaces.WatchEvent(cast(interfaces.ChangeType, event.type), bytes(event.object))
    if event.type == "ERROR":
        raise status_errors.watch_error(bytes(event.object))
    return None
