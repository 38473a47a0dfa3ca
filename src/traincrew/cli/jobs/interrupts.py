"""Interrupts of `traincrew run`: the first Ctrl-C asks the user, the second one deletes the jobs."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import signal
import sys
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from traincrew.cli.jobs import stdin
from traincrew.cli.jobs.terminal_output import TerminalOutput

T = TypeVar("T")


class InterruptChoice(enum.Enum):
    DELETE = "delete"
    CONTINUE = "continue"
    DETACH = "detach"


class Interrupted(Exception):
    """The user interrupted the command."""

    def __init__(self, choice: InterruptChoice, number: int) -> None:
        super().__init__(choice.value)
        self.choice, self.number = choice, number

    @property
    def exit_code(self) -> int:
        return 128 + (self.number or signal.SIGINT)


class Interrupts:
    """The queue of signals that arrive while `caught` is entered."""

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

    async def cancel_on_signal(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work. A signal cancels it; Interrupted is raised when the work has ended."""
        running = asyncio.ensure_future(work)
        signalled = asyncio.ensure_future(self.next())
        try:
            await asyncio.wait({running, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if not signalled.done():
                return await running
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            raise Interrupted(InterruptChoice.DELETE, signalled.result())
        finally:
            for task in (running, signalled):
                task.cancel()
            await asyncio.gather(running, signalled, return_exceptions=True)

    async def ask(self, number: int, jobs: str, console: TerminalOutput, finished: asyncio.Future[None]) -> InterruptChoice:
        """Ask what to do. SIGTERM, and an interrupt without a terminal, delete the jobs. Their end ends the question."""
        if number != signal.SIGINT or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return InterruptChoice.DELETE
        console.hold()
        try:
            sys.stderr.write(f"\nDelete {jobs}? [Y/n/detach] ")
            sys.stderr.flush()
            return await self._answer(finished)
        finally:
            console.release()

    async def _answer(self, finished: asyncio.Future[None]) -> InterruptChoice:
        """What the user types; a second signal deletes the jobs. There is nothing to delete when they have finished."""
        typed = asyncio.ensure_future(_read_line())
        again = asyncio.ensure_future(self.next())
        try:
            events: set[asyncio.Future[Any]] = {typed, again, finished}
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            if finished.done():
                sys.stderr.write("\n")
                return InterruptChoice.CONTINUE
            return parse_choice(typed.result()) if typed.done() else InterruptChoice.DELETE
        finally:
            for task in (typed, again):
                task.cancel()
            await asyncio.gather(typed, again, return_exceptions=True)


def parse_choice(text: str | None) -> InterruptChoice:
    """None is the end of the input: the terminal was closed, and the job keeps running."""
    if text is None or text.strip().lower().startswith("d"):
        return InterruptChoice.DETACH
    return InterruptChoice.CONTINUE if text.strip().lower().startswith("n") else InterruptChoice.DELETE


async def _read_line() -> str | None:
    """Read a line from the terminal without a thread, which would outlive the question."""
    text = b""
    while not text.endswith(b"\n"):
        try:
            piece = await stdin.read()
        except OSError:
            return None
        if not piece:
            return None
        text += piece
    return text.decode(errors="replace")
