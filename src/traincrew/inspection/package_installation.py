"""How a package is installed in an environment of this machine that has no pip, such as those of `make frameworks`."""

from __future__ import annotations

import pathlib
import re
import shlex
import shutil

_SYSTEM_PACKAGES = re.compile(r"^include-system-site-packages\s*=\s*true\s*$", re.MULTILINE | re.IGNORECASE)


def command(environment: str) -> str:
    """Installs PACKAGE. Empty: the environment has its own pip, or it is not a virtual environment of this machine."""
    directory = pathlib.Path(environment)
    if not environment or not (directory / "pyvenv.cfg").is_file() or _has_pip(directory):
        return ""
    python = shlex.quote(f"{environment}/bin/python")
    if shutil.which("uv"):
        return f"uv pip install --python {python} PACKAGE"
    return f"python3 -m pip --python {python} install PACKAGE"


def _has_pip(directory: pathlib.Path) -> bool:
    if any(directory.glob("lib*/python3*/site-packages/pip")):
        return True
    return _SYSTEM_PACKAGES.search((directory / "pyvenv.cfg").read_text(errors="replace")) is not None
