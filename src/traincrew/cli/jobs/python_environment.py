"""The Python environment of the caller: the activated one, else the one that its `python` belongs to."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from traincrew import errors
from traincrew.cli import home_paths

PROGRAMS = ("python", "python3")
PROBE_TIMEOUT = 30.0
_PROBE = """
import importlib.util, json, site, sys
def missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return False
user = site.USER_BASE if site.ENABLE_USER_SITE and site.USER_SITE in sys.path else ""
print(json.dumps({
    "prefix": sys.prefix, "base": sys.base_prefix, "version": "%d.%d.%d" % sys.version_info[:3], "user": user or "",
    "missing": [name for name in sys.argv[1:] if missing(name)],
}))
"""


@dataclasses.dataclass(frozen=True)
class PythonEnvironment:
    prefix: str
    python: str
    """Path of the interpreter."""
    version: str
    kind: str
    """Such as `the activated virtual environment`."""
    base: str = ""
    """Prefix of the Python that a virtual environment was made from."""
    user_base: str = ""
    """Directory of packages that the user installed with `pip install --user`. Empty: none."""
    missing: tuple[str, ...] = ()
    """The modules that were asked for and that the environment does not have."""

    def __str__(self) -> str:
        """The interpreter is named if it is not where everybody expects it."""
        expected = [os.path.join(self.prefix, "bin", name) for name in PROGRAMS]
        interpreter = "" if self.python in expected else f" ({home_paths.abbreviate(self.python)})"
        return f"Python {self.version}{interpreter} of {self.kind} {home_paths.abbreviate(self.prefix)}"


def of_caller(environ: Mapping[str, str], modules: Sequence[str] = (), program: str = "") -> PythonEnvironment:
    """program: the name of the interpreter in the command, which is found as a shell does. Else the first Python of the PATH."""
    named = shutil.which(program, path=environ.get("PATH", os.defpath)) if program else None
    python = named or _first(environ) or sys.executable
    if root := _activated(python, environ):
        kind = "conda" if root == environ.get("CONDA_PREFIX") else "virtual"
        return in_directory(root, environ, modules, f"the activated {kind} environment")
    return of_interpreter(python, environ, modules)


def only_of_traincrew(program: str, environ: Mapping[str, str]) -> str:
    """The path of the interpreter if only the environment of traincrew has it, after another Python in the PATH. Else empty.

    Debian has no `python`. Where PATH ends with the environment of traincrew, `python` is its Python, and `python3` the user's.
    """
    python = shutil.which(program, path=environ.get("PATH", os.defpath)) if program else None
    if python is None or sys.prefix == sys.base_prefix or os.path.dirname(_first(environ)) == os.path.dirname(python):
        return ""
    own = os.path.join(sys.prefix, "bin")
    return python if os.path.realpath(os.path.dirname(python)) == os.path.realpath(own) else ""


def _first(environ: Mapping[str, str]) -> str:
    """The first Python of the PATH, under any of its names. Empty: none."""
    directories = environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which(name, path=directory) for directory in directories if directory for name in PROGRAMS)
    return next(filter(None, found), "")


def _activated(python: str, environ: Mapping[str, str]) -> str:
    """The activated environment, if the Python belongs to it."""
    roots = {os.path.join(root, "bin"): root for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if (root := environ.get(name))}
    return roots.get(os.path.normpath(os.path.dirname(python)), "")


def in_directory(
    directory: str, environ: Mapping[str, str], modules: Sequence[str] = (), kind: str = "the environment"
) -> PythonEnvironment:
    """Raise SettingsError if the directory has no Python."""
    for name in PROGRAMS:
        python = os.path.join(directory, "bin", name)
        if os.access(python, os.X_OK):
            return dataclasses.replace(_probe(python, environ, modules), prefix=directory, kind=kind)
    reason = "bin/python does not exist" if os.path.isdir(directory) else "no such directory"
    raise errors.SettingsError(f"{directory} is not a Python environment: {reason}")


def of_interpreter(python: str, environ: Mapping[str, str], modules: Sequence[str] = ()) -> PythonEnvironment:
    found = _probe(python, environ, modules)
    return dataclasses.replace(found, kind="the virtual environment" if found.prefix != found.base else "the installation")


def _probe(python: str, environ: Mapping[str, str], modules: Sequence[str]) -> PythonEnvironment:
    # A pod has no variables of the caller.
    kept = {name: value for name, value in environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            [python, "-c", _PROBE, *modules], env=kept, capture_output=True, text=True, check=True, timeout=PROBE_TIMEOUT
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        message = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) and error.stderr else error
        raise errors.SettingsError(f"cannot run {python}: {message}") from None
    return PythonEnvironment(
        found["prefix"], python, found["version"], "the environment", found["base"], found["user"], tuple(found["missing"])
    )
