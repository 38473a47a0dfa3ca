"""The lock beside the data file: one process at a time. The kernel releases it when the process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from traincrew.errors import StoreError

WIDTH = 19
ATTEMPTS, PAUSE = 10, 0.02


class Lock:
    # Not on the data file itself: closing any descriptor of it would drop the locks that SQLite holds there.
    def __init__(self, data: Path) -> None:
        path = data.with_name(data.name + ".lock")
        try:
            data.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{error.filename or path}: {error.strerror}") from None
        if not self._acquire():
            holder = os.pread(self._descriptor, 20, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            by = f"process {holder}" if holder else "another process"
            raise StoreError(f"{data} is in use by {by}: stop that process first")
        # On a full disk the process id may be missing; the lock holds. The width is fixed: no space is allocated.
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, f"{os.getpid():<{WIDTH}}\n".encode(), 0)

    def _acquire(self) -> bool:
        """Retries: a process that tests the lock holds it for that moment."""
        for _ in range(ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(PAUSE)
            else:
                return True
        return False

    def release(self) -> None:
        os.close(self._descriptor)
