"""Trees that ordinary tools cannot handle, and a process that changes them meanwhile."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable
from typing import NoReturn

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def dig(directory: pathlib.Path, depth: int, content: bytes = b"") -> None:
    """Creates directories named d in each other. The innermost one gets a file with the content."""
    here = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inner
    if content:
        with open(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
            file.write(content)
    os.close(here)


def exchange_for_ever(one: pathlib.Path, other: pathlib.Path) -> NoReturn:
    """In a child process: exchanges two entries until this process is killed."""
    rename = ctypes.CDLL(None).renameat2
    while True:
        rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)


def exit_with(body: Callable[[], None]) -> NoReturn:
    """In a child process: exits with 0 if the body raises nothing."""
    try:
        body()
        os._exit(0)
    finally:
        os._exit(1)
