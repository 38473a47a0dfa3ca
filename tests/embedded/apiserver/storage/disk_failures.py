"""Simulated disk failures: full file systems and read-only files."""

from __future__ import annotations

import contextlib
import pathlib
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

DiskFailure = Callable[[pathlib.Path], AbstractContextManager[Callable[[], None]]]
"""While the context is open, files in the directory cannot grow until the yielded function is called."""


@contextlib.contextmanager
def full_disk(directory: pathlib.Path) -> Iterator[Callable[[], None]]:
    """Fills the file system, which should be small."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    yield filler.unlink
    filler.unlink(missing_ok=True)


@contextlib.contextmanager
def file_size_limit(directory: pathlib.Path) -> Iterator[Callable[[], None]]:
    """The kernel lets no file of this process grow beyond the largest existing one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(path.stat().st_size for path in directory.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def small_file_system(directory: pathlib.Path) -> Iterator[None]:
    directory.mkdir()
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", directory], check=False, capture_output=True)
    if mounting.returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


@contextlib.contextmanager
def immutable(files: list[pathlib.Path]) -> Iterator[None]:
    if not shutil.which("chattr") or subprocess.run(["chattr", "+i", *files], check=False, capture_output=True).returncode:
        pytest.skip("this file system, or this user, cannot make files immutable")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *files], check=True)
