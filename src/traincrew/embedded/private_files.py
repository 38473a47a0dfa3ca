"""Files that nobody else may read."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
from collections.abc import Callable


def write(path: pathlib.Path, content: bytes) -> None:
    """Whole or not at all, with mode 0600 from its first byte on, and on the disk when this returns."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
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
    """The directory, made if need be, with mode 0700."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def read_or_create(path: pathlib.Path, make: Callable[[], bytes]) -> bytes:
    """A secret's content: what is there, closed to others again if need be; else a new one, which is kept."""
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
