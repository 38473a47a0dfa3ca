"""Runs the programs of a build and reports progress."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

REPORT_INTERVAL = 20.0
ATTEMPTS = 4
NETWORK = re.compile(
    r"\b429\b|\b50[0234]\b|timed? ?out|connection (reset|refused)|unexpected EOF|TLS handshake"
    r"|dns error|name resolution|network is unreachable|error sending request",
    re.IGNORECASE,
)
FULL = "Free some space, or set TRAINCREW_CACHE to a larger disk; finished steps are kept."
UNREACHABLE = "\nThe package index could not be reached: check the network, or name an index to pip as usual."
DISK = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)


class BuildFailed(Exception):
    """An environment could not be built; the message says what to do about it, where that is known."""


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(what: str, command: Sequence[str], cwd: Path | None = None, extra: Mapping[str, str] | None = None) -> str:
    """Runs to the end and prints a line every twenty seconds. Network failures are retried."""
    for attempt in range(1, ATTEMPTS + 1):
        code, printed = _watched(what, command, cwd, {**os.environ, **(extra or {})})
        if code == 0:
            return printed
        if DISK.search(printed):
            raise BuildFailed(f"{what}: the disk is full. {FULL}")
        if not NETWORK.search(printed):
            break
        if attempt < ATTEMPTS:
            report(f"{what}: the network failed, trying again in {5 * attempt} s: {_last(printed)}")
            time.sleep(5 * attempt)
    hint = UNREACHABLE if NETWORK.search(printed) else ""
    raise BuildFailed(f"{what} ended with {code}: {' '.join(command)}\n{printed[-3000:]}{hint}")


def _watched(what: str, command: Sequence[str], cwd: Path | None, environment: Mapping[str, str]) -> tuple[int, str]:
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise BuildFailed(f"{what}: there is no {error.filename} on this machine") from error
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(REPORT_INTERVAL)
                output.seek(0)
                printed = output.read()
                if process.returncode is not None:
                    return process.returncode, printed
                report(f"{what}: {time.monotonic() - started:.0f} s so far{_progress(printed)}")
        finally:
            process.kill()
            process.wait()


def _progress(printed: str) -> str:
    percents = re.findall(r"^\[ *(\d+)%\]", printed, re.MULTILINE)
    return f", {percents[-1]} % compiled" if percents else ""


def _last(printed: str) -> str:
    lines = printed.strip().splitlines()
    return lines[-1][:200] if lines else "no output"
