"""The environment of `traincrew run --requirements FILE`: built once with pip, and kept in the cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator

from traincrew import errors
from traincrew.cli.jobs import python_environment
from traincrew.embedded.file_trees import removal

COMPLETE = ".complete"
"""Exists when the environment is complete."""
SHOWN_LINES = 15
"""Lines of pip that are shown if it fails."""


def build(file: str, base: python_environment.PythonEnvironment, report: Callable[[str], None]) -> str:
    """The directory of the environment with the packages of the file. Raise SettingsError if pip fails."""
    directory = _root() / f"{pathlib.Path(file).stem}-{digest(pathlib.Path(file), base)}"
    if (directory / COMPLETE).exists():
        return str(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_name(f".{directory.name}.lock"), report):
        if not (directory / COMPLETE).exists():
            report(f"Installing the packages of {file} in {directory}. Later runs use this environment.")
            _install(pathlib.Path(file), base.python, directory)
    return str(directory)


def _root() -> pathlib.Path:
    if chosen := os.environ.get("TRAINCREW_CACHE"):
        return pathlib.Path(chosen, "environments")
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "traincrew", "environments")


def digest(file: pathlib.Path, base: python_environment.PythonEnvironment) -> str:
    """Of the Python and of all files that name packages."""
    found = hashlib.sha256(f"{base.base}\0{base.version}\0".encode())
    for each in _files(file, set()):
        found.update(each.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def _files(file: pathlib.Path, seen: set[pathlib.Path]) -> Iterator[pathlib.Path]:
    """The file, and the files that it includes with -r and -c."""
    file = file.resolve()
    if file in seen:
        return
    seen.add(file)
    if not file.is_file():
        raise errors.SettingsError(f"--requirements: {file}: no such file")
    yield file
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        option, _, name = line.strip().replace("=", " ", 1).partition(" ")
        if option in ("-r", "--requirement", "-c", "--constraint"):
            yield from _files(file.parent / name.strip(), seen)


def _install(file: pathlib.Path, python: str, directory: pathlib.Path) -> None:
    with contextlib.suppress(OSError):  # pip then says what is in its way
        removal.remove_tree(directory)  # of an interrupted build
    _run([python, "-m", "venv", str(directory)], "Install the package python3-venv, or use --env-dir with an environment.")
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    _run([*pip, "-r", str(file)], "Correct the file, or check the network and the index that pip is configured for.")
    (directory / COMPLETE).touch()


def _run(command: list[str], remedy: str) -> None:
    """On a terminal the program shows its own progress bar; else its output is shown only if it fails."""
    if sys.stderr.isatty():
        code, text = subprocess.run(command, stdout=sys.stderr, check=False).returncode, ""
    else:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        code, text = done.returncode, "\n".join(done.stdout.splitlines()[-SHOWN_LINES:]) + "\n"
    if code:
        raise errors.SettingsError(f"{text}`{' '.join(command)}` failed with exit code {code}. {remedy}")


@contextlib.contextmanager
def _locked(path: pathlib.Path, report: Callable[[str], None]) -> Iterator[None]:
    """Two commands with the same file build its environment once."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("Another command installs the same packages. Waiting until it ends.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
