"""Runs the commands of a client in order, and compares what they print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120


@dataclass(frozen=True)
class Check:
    """One command, and a regular expression that its output must match."""

    arguments: tuple[str, ...]
    expected: str = ""
    code: int = 0

    @property
    def name(self) -> str:
        return " ".join(self.arguments)


def run(program: Path, checks: Sequence[Check], cwd: Path, environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Name → problem. The commands build on each other: each is run, even if one before has failed."""
    return [(check.name, _problem(program, check, cwd, environment)) for check in checks]


def _problem(program: Path, check: Check, cwd: Path, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [str(program), *check.arguments], cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS} s"
    printed = done.stdout + done.stderr
    if done.returncode != check.code:
        return f"exit code {done.returncode}: {printed[-300:]}"
    return "" if re.search(check.expected, printed, re.DOTALL) else f"{check.expected!r} is not in: {printed[-300:]}"
