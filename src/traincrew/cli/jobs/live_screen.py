"""A page on the terminal that is drawn again and again, until the user types q or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import termios
import tty
from collections.abc import Awaitable, Callable, Iterator

from traincrew.cli.jobs import stdin
from traincrew.cli.render import terminal

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
HOME, ERASE_LINE, ERASE_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
CUT, WRAP = "\x1b[?7l", "\x1b[?7h"
"""What becomes of lines that are longer than a narrow terminal. Wrapped ones would push the first lines off the screen."""
ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"

Draw = Callable[[int, int], str]
"""The page for a terminal with that many columns and lines."""


def available() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


async def run(draw: Draw, wait: Callable[[], Awaitable[None]]) -> None:
    """Draw the page, and again each time that `wait` returns. The last page remains on the normal screen. What `wait` raises ends
    the page."""
    page = ""
    with _prepared():
        quit_typed = asyncio.ensure_future(_quit_typed())
        try:
            while not quit_typed.done():
                size = shutil.get_terminal_size()
                page = draw(size.columns, size.lines)
                _show(page)
                await _wait_unless(quit_typed, wait())
        finally:
            quit_typed.cancel()
            await asyncio.gather(quit_typed, return_exceptions=True)
            _leave(page)


async def _wait_unless(quit_typed: asyncio.Future[None], wait: Awaitable[None]) -> None:
    waiting = asyncio.ensure_future(wait)
    try:
        await asyncio.wait({waiting, quit_typed}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            waiting.result()
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def _show(page: str) -> None:
    lines = "".join(f"{line}{ERASE_LINE}\n" for line in page.splitlines())
    terminal.write(f"{HOME}{lines.removesuffix(chr(10))}{ERASE_BELOW}")


def _leave(page: str) -> None:
    terminal.write(f"{SHOW}{WRAP}{NORMAL}{page}\n")


async def _quit_typed() -> None:
    if not sys.stdin.isatty():
        await asyncio.Event().wait()
    with contextlib.suppress(OSError):
        while data := await stdin.read():
            if data.strip().lower().startswith(b"q"):
                return


@contextlib.contextmanager
def _prepared() -> Iterator[None]:
    """The alternate screen, and keys without Enter. Ctrl-C still interrupts."""
    saved = termios.tcgetattr(0) if sys.stdin.isatty() else None
    terminal.write(f"{ALTERNATE}{CUT}{HIDE}")
    try:
        if saved is not None:
            tty.setcbreak(0, termios.TCSADRAIN)
        yield
    finally:
        if saved is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
