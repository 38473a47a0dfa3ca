"""Output of logs and messages: logs to standard output, messages to standard error, on a terminal with a state line below."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import BinaryIO

from traincrew.apimachinery.terminal_text import printable
from traincrew.client import pod_logs

COLOURS = (36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91)
ERASE = b"\r\x1b[K"
SIGN = "⠿ "


class TerminalOutput:
    """Not thread-safe. Each call writes whole lines, so that lines of several containers never mix."""

    def __init__(self, out: BinaryIO, err: BinaryIO, env: Mapping[str, str] = os.environ) -> None:
        self._out, self._err = out, err
        self._live = err.isatty() and env.get("TERM") != "dumb"
        self._out_is_terminal = out.isatty()
        self._colours = self._out_is_terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self._palette: dict[str, int] = {}
        self._width = 0
        self._state = ""
        self._drawn = False
        self._held: list[bytes] | None = None

    @property
    def live(self) -> bool:
        """Whether a new state overwrites the previous one."""
        return self._live

    def lines(self, source: str, lines: Iterable[pod_logs.PodLogLine], *, timestamps: bool = False) -> None:
        """Print lines of one replica. Without a source name there is no prefix."""
        before = self._prefix(source) if source else b""
        text = b"".join(before + self._line(line, timestamps) for line in lines)
        if self._held is not None:
            self._held.append(text)
            return
        self._erase()
        self._out.write(text)
        self._out.flush()
        self._draw()

    def message(self, text: str) -> None:
        """Print a message for the user."""
        self._erase()
        self._err.write(printable(text).encode(errors="replace") + b"\n")
        self._err.flush()
        self._draw()

    def state(self, text: str) -> None:
        """Show the state: one line that is overwritten on a terminal, else a line for each change."""
        text = printable(text)
        if text == self._state:
            return
        self._state = text
        if self._live:
            self._erase()
            self._draw()
        elif text:
            self._err.write(text.encode(errors="replace") + b"\n")
            self._err.flush()

    def hold(self) -> None:
        """Hold the logs back while a question is shown."""
        self._erase()
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        self._out.write(b"".join(held))
        self._out.flush()
        self._draw()

    def _line(self, line: pod_logs.PodLogLine, timestamps: bool) -> bytes:
        text = line.text
        if self._out_is_terminal:
            # A progress bar overwrites itself. Only its last state would be visible.
            text = text.rstrip(b"\r").rpartition(b"\r")[2]
        return (timestamp(line.nanoseconds) + b" " if timestamps and line.nanoseconds else b"") + text + b"\n"

    def _prefix(self, source: str) -> bytes:
        self._width = max(self._width, len(source))
        name = source.ljust(self._width)
        if not self._colours:
            return f"[{name}] ".encode()
        colour = COLOURS[self._palette.setdefault(source, len(self._palette)) % len(COLOURS)]
        return f"\x1b[{colour}m{name} |\x1b[0m ".encode()

    def _erase(self) -> None:
        if self._drawn:
            self._err.write(ERASE)
            self._err.flush()
            self._drawn = False

    def _draw(self) -> None:
        if self._live and self._state and self._held is None:
            width = max(shutil.get_terminal_size().columns - 1, 20)
            text = SIGN + " ".join(self._state.split())
            self._err.write((text if len(text) <= width else text[: width - 1] + "…").encode(errors="replace"))
            self._err.flush()
            self._drawn = True


def timestamp(nanoseconds: int) -> bytes:
    moment = dt.datetime.fromtimestamp(nanoseconds // pod_logs.NANO, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % pod_logs.NANO:09}Z".encode()
