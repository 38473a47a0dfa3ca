"""Python interpreters that another user can run. The one that runs the tests may be in a home directory."""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
_SYSTEM = ("/usr/bin", "/usr/local/bin", "/opt/bin")
_NOT_NEEDED = ("test", "tests", "site-packages", "__pycache__", "config-*", "idlelib", "lib2to3", "tkinter", "ensurepip", "*.a")
_CHECK = f"import sys, ssl, sqlite3, ctypes; sys.exit('%d.%d' % sys.version_info[:2] != '{MINOR}')"
"""Compiled packages need the version for which they were installed."""


@functools.cache
def for_user(user: int) -> str:
    """An interpreter of the version that runs the tests, which the user can run."""
    real = os.path.realpath(sys.executable)
    installed = [f"{directory}/python{version}" for version in (MINOR, "3") for directory in _SYSTEM]
    for path in (sys.executable, real, *installed):
        if _runs(path, user):
            return path
    if _runs(copied := _copy(), user):
        return copied
    home = pathlib.Path(sys.base_prefix)
    raise AssertionError(f"user {user} cannot run Python {MINOR} in {home}. Install python{MINOR} in /usr or /usr/local.")


@functools.cache
def in_containers() -> str:
    """An interpreter of any version that containers of every level can run. They see the files of the host."""
    found = (f"{directory}/python3" for directory in _SYSTEM)
    return next((path for path in found if os.access(path, os.X_OK)), None) or for_user(_NOBODY)


_NOBODY = 65534


def _runs(program: str, user: int) -> bool:
    ids = {"user": user, "group": user, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        subprocess.run([program, "-c", _CHECK], capture_output=True, check=True, cwd="/", **ids)  # type: ignore[call-overload]
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@functools.cache
def _copy() -> str:
    """A copy of the interpreter and its standard library that everybody can read."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-python-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    top.chmod(0o755)
    (top / "bin").mkdir()
    program = top / f"bin/python{MINOR}"
    shutil.copy(os.path.realpath(sys.executable), program)
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, top / "lib" / library.name, ignore=shutil.ignore_patterns(*_NOT_NEEDED), symlinks=True)
    return str(program)
