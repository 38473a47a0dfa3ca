"""Messages of a terminal: the WebSocket `JOB/replicas/{replica}/exec`. Input and output are binary messages."""

from __future__ import annotations

from traincrew.console.contract import problems
from traincrew.console.contract.stream import ToPage, ToServer


class Resize(ToServer, tag="resize", kw_only=True):
    columns: int
    rows: int


class EndOfInput(ToServer, tag="end-of-input", kw_only=True):
    """The command reads the end of its input. A terminal sends Ctrl-D instead."""


class Exited(ToPage, tag="exit", kw_only=True):
    """The command has ended. The console closes the connection."""

    code: int


class TerminalError(ToPage, tag="error", kw_only=True):
    """The command could not be started, or the connection to it was lost. The console closes the connection."""

    error: problems.ApiError


TerminalInput = Resize | EndOfInput
TerminalOutput = Exited | TerminalError
