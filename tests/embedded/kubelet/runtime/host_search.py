"""A program for containers: looks for a way to the host in every process that it sees. It prints what it finds."""

from __future__ import annotations

import os
import pathlib

from tests import interpreters

KINDS = ("mnt", "pid", "net", "ipc", "uts")
PROGRAM = pathlib.Path(__file__).with_name("host_search_program.py").read_text()


def command(secret: pathlib.Path, until: str = "") -> list[str]:
    """secret: a file of the host that the container does not see. until: a file that ends the search; "": search once."""
    namespaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS]
    return [interpreters.in_containers(), "-ISc", PROGRAM, str(secret), until, *namespaces]
