"""Debian packages: installed as root, else unpacked into the cache, else named in the error message."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.frameworks.commands import BuildFailed, report, run


def install(*packages: str) -> None:
    report(f"installing {' '.join(packages)} of this system")
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # nothing is started by its installation
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    try:
        run("apt-get", command, extra=quiet)
    except BuildFailed:
        run("apt-get update", ["apt-get", "update"], extra=quiet)  # lists that are old name files that are gone
        run("apt-get", command, extra=quiet)


def unpack(packages: Sequence[str], prefix: Path) -> Path:
    """Unpacks the files of the packages below a folder. Needs no root."""
    if (prefix / ".whole").exists():
        return prefix
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise BuildFailed(f"not on this machine: {' '.join(packages)}. Install them (as root), then the same again.")
    shutil.rmtree(prefix, ignore_errors=True)
    archives = prefix / "archives"
    archives.mkdir(parents=True)
    run("apt-get download", ["apt-get", "download", *packages], cwd=archives)
    for archive in sorted(archives.glob("*.deb")):
        run("dpkg", ["dpkg", "-x", str(archive), str(prefix)])
    shutil.rmtree(archives)
    (prefix / ".whole").touch()
    return prefix
