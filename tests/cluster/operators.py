"""Operator processes for tests: the real command, with a kubeconfig, on free ports."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator

from tests.cluster.api import eventually
from tools.kube.control_plane import START_LIMIT

from traincrew import __version__

INIT_IMAGE = f"traincrew:{__version__}"
"""The image of init containers, as on one machine: the operator of a test has no pod whose image it could use."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class OperatorProcess:
    """`traincrew operator` as a child process. Its log file is printed if it does not start."""

    def __init__(self, kubeconfig: str | os.PathLike[str], *flags: str, env: dict[str, str] | None = None) -> None:
        self.metrics_port, self.health_port = free_port(), free_port()
        handle, name = tempfile.mkstemp(prefix="traincrew-operator-", suffix=".log")
        self.log_file = pathlib.Path(name)
        command = [
            sys.executable, "-m", "traincrew.cli.main", "operator", "--kubeconfig", str(kubeconfig),
            "--metrics-bind-address", f"127.0.0.1:{self.metrics_port}",
            "--health-probe-bind-address", f"127.0.0.1:{self.health_port}", "--init-image", INIT_IMAGE, *flags,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=handle, stderr=handle, env={**os.environ, **(env or {})})
        os.close(handle)

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def wait_ready(self) -> None:
        try:
            eventually(self._ready, START_LIMIT)
        except AssertionError as error:
            raise AssertionError(f"the operator did not become ready:\n{self.log[-3000:]}") from error

    def _ready(self) -> bool:
        assert self.process.poll() is None, self.log[-3000:]
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return "ok" in self.fetch(self.health_port, "/readyz")
        return False

    def fetch(self, port: int, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def metrics(self) -> str:
        return self.fetch(self.metrics_port, "/metrics")

    def stop(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(20)
        self.log_file.unlink(missing_ok=True)
        return code


@contextlib.contextmanager
def running(
    kubeconfig: str | os.PathLike[str], *flags: str, env: dict[str, str] | None = None, ready: bool = True
) -> Iterator[OperatorProcess]:
    """An operator within the block, which is ready unless `ready` is False.

    Use `--namespace` to keep it away from the jobs of other tests.
    """
    operator = OperatorProcess(kubeconfig, *flags, env=env)
    try:
        if ready:
            operator.wait_ready()
        yield operator
    finally:
        operator.stop()
