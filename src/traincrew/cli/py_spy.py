"""py-spy, which reads the Python stacks of processes: where it is, how it is installed, and what its errors say."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys


def find() -> str | None:
    """py-spy beside this Python, else in the PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    return beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


def install_command() -> str:
    """For the environment of this process. Those of `uv tool install` have no pip."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} py-spy"
    return f"{python} -m pip install py-spy"


def reason(message: str) -> str:
    """Its error in one sentence: the error and its cause, without the backtrace of its own code."""
    text = re.split(r"\n\s*stack backtrace:", message, maxsplit=1, flags=re.IGNORECASE)[0].strip()
    error, _, causes = text.partition("\n\nCaused by:")
    last = re.sub(r"^\d+: ", "", (causes.strip().splitlines() or [""])[-1].strip())
    parts = [" ".join(error.split()).removeprefix("Error: ").rstrip("."), last]
    return ": ".join(filter(None, parts)) or "no output"
