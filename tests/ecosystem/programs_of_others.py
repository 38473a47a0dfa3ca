"""Processes of other projects' controllers."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from tests.cluster.api import eventually
from tools.ecosystem import programs
from tools.kube import cluster

START_LIMIT = 120.0


class RunningProgram:
    def __init__(self, name: str, process: subprocess.Popen[bytes], log: pathlib.Path) -> None:
        self.name, self.process, self.log_file = name, process, log

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def assert_running(self) -> None:
        assert self.process.poll() is None, f"{self.name} ended:\n{self.log[-3000:]}"

    def wait_for(self, *texts: str) -> None:
        """Waits for a line of the log with all of these texts."""

        def logged() -> bool:
            return any(all(text in line for text in texts) for line in self.log.splitlines())

        # A program that has ended will not write the line any more.
        eventually(lambda: logged() or self.process.poll() is not None, START_LIMIT)
        self.assert_running()


@contextlib.contextmanager
def running(name: str, arguments: Sequence[str], kubeconfig: pathlib.Path) -> Iterator[RunningProgram]:
    """The controller within the block. It is killed at the end, as a node that is lost would do it."""
    program = programs.program(name)
    with tempfile.NamedTemporaryFile(prefix=f"{program.name}-", suffix=".log", delete=False) as log:
        process = subprocess.Popen(
            [str(program), *arguments], stdout=log, stderr=log, env={**os.environ, "KUBECONFIG": str(kubeconfig)}
        )
    started = RunningProgram(name, process, pathlib.Path(log.name))
    try:
        yield started
        started.assert_running()
    finally:
        process.kill()
        process.wait()
        print(f"--- the end of the log of {name}:\n{started.log[-6000:]}")  # pytest shows it if the test fails
        started.log_file.unlink()


def apply_crds(kube: cluster.Cluster, directory: pathlib.Path) -> None:
    """Creates the CRDs of a directory or file, and waits until they are served: controllers of others end if they are not."""
    result = kube.kubectl("apply", "--server-side", "-f", str(directory))
    assert result.returncode == 0, result.stderr
    # kubectl wait fails on a CRD that has no conditions yet.
    wait = ("wait", "--for=condition=Established", "--timeout=60s", "-f", str(directory))
    eventually(lambda: kube.kubectl(*wait).returncode == 0, START_LIMIT)
