"""Exchanges two paths without a pause, as a hostile process in a shared volume does while the kubelet mounts a part of it."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
from collections.abc import Iterator

PROGRAM = """import ctypes, os, sys
libc, (one, two) = ctypes.CDLL(None), map(os.fsencode, sys.argv[1:])
print("ready", flush=True)
while True:
    if libc.renameat2(-100, one, -100, two, 2):
        sys.exit("renameat2 failed")
"""
"""-100 is AT_FDCWD, 2 is RENAME_EXCHANGE."""


@contextlib.contextmanager
def exchanging(one: pathlib.Path, two: pathlib.Path) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", PROGRAM, one, two], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
            assert process.poll() is None, "the swapper has ended"
        finally:
            process.kill()
