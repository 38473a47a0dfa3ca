"""Limits of memory for attacked processes: an attack that succeeds fails its test and does not harm the machine."""

from __future__ import annotations

import contextlib
import pathlib
import resource
from collections.abc import Iterator

ADDRESS_SPACE = 4 << 30
"""Bytes of a server in a process of its own."""
MORE = 4 << 30
"""Bytes that a test may add to its own process."""


def limited(command: list[str]) -> list[str]:
    return ["prlimit", f"--as={ADDRESS_SPACE}", *command]


@contextlib.contextmanager
def of_this_process() -> Iterator[None]:
    """For servers that run in the process of the test."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
