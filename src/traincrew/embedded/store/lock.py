"""One process at a time: a lock beside the data file, gone with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from traincrew.errors import StoreError


class Lock:
    # Not on the data file itself: closing any descriptor of it would drop the locks that SQLite holds there.
    def __init__(self, data: Path) -> None:
        path = data.with_name(data.name + ".lock")
        try:
            data.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{error.filename or path}: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._descriptor, 20, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            by = f"process {holder}" if holder else "another process"
            raise StoreError(f"{data} is in use by {by}: only one may have it open") from None
        os.ftruncate(self._descriptor, 0)
        # On a full disk the number is missing; the lock holds all the same.
        with_number = f"{os.getpid()}\n".encode()
        try:
            os.pwrite(self._descriptor, with_number, 0)
        except OSError:
            return

    def release(self) -> None:
        os.close(self._descriptor)
