"""A program for containers: looks for a way to the host in every process that it sees. It prints what it finds."""

from __future__ import annotations

import pathlib

PROGRAM = pathlib.Path(__file__).with_name("host_search_program.py").read_text()


def command(secret: pathlib.Path, seconds: float = 0.0) -> list[str]:
    """secret: a file of the host that the container does not see. seconds: how long to search; 0: once."""
    return ["/usr/bin/python3", "-ISc", PROGRAM, str(secret), str(seconds)]
