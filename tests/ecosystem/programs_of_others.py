"""Processes of other projects' controllers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.ecosystem import programs


@contextlib.contextmanager
def running(name: str, arguments: Sequence[str], kubeconfig: Path) -> Iterator[Path]:
    """The controller within the block; the path of its log. It is killed at the end, as a node that is lost would do it."""
    program = programs.program(name)
    with tempfile.NamedTemporaryFile(prefix=f"{program.name}-", suffix=".log", delete=False) as log:
        process = subprocess.Popen(
            [str(program), *arguments], stdout=log, stderr=log, env={**os.environ, "KUBECONFIG": str(kubeconfig)}
        )
    path = Path(log.name)
    try:
        yield path
        assert process.poll() is None, f"{name} ended:\n{path.read_text()[-3000:]}"
    finally:
        process.kill()
        process.wait()
        path.unlink()
