"""The log of a job for programs: each line is a document with its replica and its time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from traincrew.cli.jobs import terminal_output
from traincrew.cli.render import serialization
from traincrew.client import pod_logs


class LogDocuments(terminal_output.TerminalOutput):
    """Prints each line as a JSON object in a line of its own, or as an entry of a YAML list."""

    def __init__(self, out: BinaryIO, err: BinaryIO, form: str) -> None:
        super().__init__(out, err)
        self._form = form

    def lines(self, source: str, lines: Iterable[pod_logs.PodLogLine], *, timestamps: bool = False) -> None:
        text = "".join(serialization.list_entry(_document(source, line), self._form) for line in lines)
        self._out.write(text.encode(errors="replace"))
        self._out.flush()


def _document(source: str, line: pod_logs.PodLogLine) -> dict[str, str]:
    replica, _, container = source.partition("/")
    document = {"replica": replica}
    if container:
        document["container"] = container
    if line.nanoseconds:
        document["time"] = terminal_output.timestamp(line.nanoseconds).decode()
    return {**document, "line": line.text.decode(errors="replace")}
