"""Packages are built from a copy of the files that git knows: setuptools would keep modules that are gone in build/lib."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
MODES = {"100755": 0o755, "100644": 0o644}
"""Modes of git, and of the files: those of the working tree depend on the umask."""
WRITTEN = ("build", "dist", "node_modules", "__pycache__")
"""Directories that tools write."""

Hook = Literal["build_sdist", "build_wheel"]
"""Of PEP 517."""


def copy(target: Path, top: Path = ROOT) -> None:
    """The files that git knows, with their contents in the working tree. Nothing else gets into a package."""
    for name, mode in _files(top):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(top / name, path)
        path.chmod(mode)


def build(source: Path, output: Path, epoch: int, hook: Hook) -> Path:
    """The package of a copy. Writes into the copy."""
    program = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program, hook, str(output)]
    # The modes of files that setuptools writes get into the wheel.
    done = subprocess.run(command, cwd=source, env=environment, umask=0o022, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{hook} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return output / done.stdout.splitlines()[-1]


def _files(top: Path) -> Iterator[tuple[str, int]]:
    command = ["git", "-C", str(top), "ls-files", "-z", "--stage"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    if listed.returncode:
        yield from _files_without_git(top)
    for entry in listed.stdout.split("\0"):
        facts, _, name = entry.partition("\t")
        mode = MODES.get(facts.split(" ")[0])
        if mode is not None and (top / name).exists():
            yield name, mode


def _files_without_git(top: Path) -> Iterator[tuple[str, int]]:
    """Of an archive that was unpacked."""
    for folder, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each not in WRITTEN and not each.startswith(".")]
        for path in (Path(folder, name) for name in names):
            yield str(path.relative_to(top)), 0o755 if path.stat().st_mode & 0o100 else 0o644
