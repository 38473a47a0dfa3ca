"""Files that only their owner may read."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable


def write(path: pathlib.Path, content: bytes) -> None:
    """Writes atomically and durably, with mode 0600 from the start."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def ensure_directory(path: pathlib.Path) -> pathlib.Path:
    """Creates the directory if it is missing, and sets mode 0700."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def read_or_create(path: pathlib.Path, make: Callable[[], bytes]) -> bytes:
    """The content of the file, with mode 0600 restored; a missing or empty file is created."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    if not content:
        content = make()
        write(path, content)
    elif path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return content
