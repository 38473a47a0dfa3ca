"""Finds an executable. (`shutil` would import compression and archives into the netns daemon.)"""

from __future__ import annotations

import os

_SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


def find(name: str) -> str | None:
    """By PATH, then where administrators' programs are: an ordinary user's PATH may lack those."""
    for directory in (*os.environ.get("PATH", "").split(os.pathsep), *_SYSTEM_DIRECTORIES):
        path = os.path.join(directory, name)
        if directory.startswith("/") and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
