"""Environments of Python clients: the client with what its tests need, and its source distribution, unpacked.

<cache>/clients/NAME-<digest of its lock file>: `venv` and `source`, so that what is found there is never stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.frameworks.commands import BuildFailed, report, run
from tools.kube.build import cache

LOCKS = Path(__file__).resolve().parents[2] / "requirements" / "clients"
_QUIET = ("--quiet", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Environment:
    name: str
    version: str
    python: Path
    source: Path
    """The unpacked source distribution."""


def environment(name: str) -> Environment:
    """Builds it if there is none yet. Raises BuildFailed."""
    lock = LOCKS / f"{name}.txt"
    content = lock.read_text()
    digest = hashlib.sha256(content.encode() + sys.version.encode()).hexdigest()[:8]
    folder = cache() / "clients" / f"{name}-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one_at_a_time(folder.with_name(f".{name}.lock"), name):
        if not (folder / "source").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _install(name, lock, folder)
            _unpack(name, content, folder)
    return Environment(name, pinned_version(name, content), folder / "venv" / "bin" / "python", folder / "source")


def pinned_version(name: str, lock: str) -> str:
    found = re.search(rf"^{name}(?:\[[a-z,]+\])?==(\S+)", lock, re.MULTILINE)
    assert found, f"{name}.txt pins {name}"
    return found[1]


def _install(name: str, lock: Path, folder: Path) -> None:
    report(f"{name}: its environment is built, once (one to two minutes)")
    run(name, [sys.executable, "-m", "venv", "--clear", str(folder / "venv")])
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip"]
    run(name, [*pip, "install", *_QUIET, "--require-hashes", "--no-deps", "-r", str(lock)])


def _unpack(name: str, lock: str, folder: Path) -> None:
    """Downloads the source distribution of the pinned version, whose hash is in the lock file, too."""
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip"]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        only = Path(work) / "source.txt"
        only.write_text(entry(name, lock))
        flags = ("--no-deps", "--no-build-isolation", "--require-hashes", "--no-binary", name, "--dest", work)
        # pip asks what builds the client for its metadata. Some of that are programs.
        path = f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}"
        run(name, [*pip, "download", *_QUIET, *flags, "-r", str(only)], extra={"PATH": path})
        archives = list(Path(work).glob("*.tar.gz"))
        if len(archives) != 1:
            raise BuildFailed(f"{name}: the package index has no source distribution")
        run(name, ["tar", "--extract", "--no-same-owner", "--directory", work, "--file", str(archives[0])])
        archives[0].unlink()
        unpacked = next(path for path in Path(work).iterdir() if path.is_dir())
        unpacked.rename(folder / "source")


def entry(name: str, lock: str) -> str:
    """The lines of one package."""
    found = re.search(rf"^{name}(?:\[[a-z,]+\])?==.*?(?=^\S|\Z)", lock, re.MULTILINE | re.DOTALL)
    assert found, f"{name}.txt pins {name}"
    return found[0]


@contextlib.contextmanager
def _only_one_at_a_time(lock: Path, name: str) -> Iterator[None]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{name}: another process builds it, waiting for that")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
