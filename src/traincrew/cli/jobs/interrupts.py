"""Ctrl-C: asked about once, taken at its word the second time."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import signal
import sys
from collections.abc import Iterator

from traincrew.cli.jobs import keyboard
from traincrew.cli.render.screen import Screen


class Answer(enum.Enum):
    DELETE = "delete"
    GO_ON = "go on"
    DETACH = "detach"


class Interrupts:
    """Signals as they come, while `caught` is entered."""

    def __init__(self) -> None:
        self._signals: asyncio.Queue[int] = asyncio.Queue()

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self._signals.put_nowait, int(number))
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    async def next(self) -> int:
        return await self._signals.get()

    async def ask(self, number: int, what: str, screen: Screen) -> Answer:
        """What to do now. Who cannot be asked, or asks again, wants it gone."""
        if number != signal.SIGINT or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return Answer.DELETE
        screen.hold()
        try:
            sys.stderr.write(f"\nDelete {what}? [Y/n/detach] ")
            sys.stderr.flush()
            return await self._answered()
        finally:
            screen.release()

    async def _answered(self) -> Answer:
        typed = asyncio.ensure_future(_line())
        again = asyncio.ensure_future(self.next())
        try:
            await asyncio.wait({typed, again}, return_when=asyncio.FIRST_COMPLETED)
            return meant(typed.result()) if typed.done() else Answer.DELETE
        finally:
            for task in (typed, again):
                task.cancel()
            await asyncio.gather(typed, again, return_exceptions=True)


def meant(text: str | None) -> Answer:
    """What was typed; None is the end of the input: the terminal has gone, the job need not."""
    if text is None or text.strip().lower().startswith("d"):
        return Answer.DETACH
    return Answer.GO_ON if text.strip().lower().startswith("n") else Answer.DELETE


async def _line() -> str | None:
    """A line from the terminal, without a thread that would outlive the question."""
    text = b""
    while not text.endswith(b"\n"):
        try:
            piece = await keyboard.read()
        except OSError:
            return None
        if not piece:
            return None
        text += piece
    return text.decode(errors="replace")
