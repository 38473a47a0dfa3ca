"""Operator processes that start fast: each is forked from a server process that has imported all modules.

What is killed in tests is a real process with a real command line; only its start is cheaper. Run as a module this is that
parent, which reads one JSON request a line and answers with one number a line.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

PR_SET_PDEATHSIG = 1
IMPORTED = (
    "traincrew.app.operator", "traincrew.cli.main", "traincrew.cli.commands.operator", "traincrew.operator.ssh_keys",
    "cryptography.hazmat.primitives.serialization", "cryptography.hazmat.primitives.asymmetric.ec", "aiohttp", "aiohttp.web",
)  # fmt: skip


class ForkedOperator:
    """An operator process."""

    def __init__(self, parent: ForkServer, pid: int, log: pathlib.Path) -> None:
        self._parent = parent
        self._end = os.pidfd_open(pid)
        self._lock = threading.Lock()
        self._ended = False
        self.pid = pid
        self.log_file = log

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def signal(self, how: int) -> None:
        """Send a signal. Does nothing if the process has ended."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if not self._ended:
                signal.pidfd_send_signal(self._end, how)

    def wait(self, seconds: float = 300.0) -> int:
        """Wait for the end. Returns the exit code, or the negative number of the signal that killed the process."""
        assert select.select([self._end], [], [], seconds)[0], f"the operator does not end:\n{self.log[-3000:]}"
        with self._lock:
            self._ended = True
            os.close(self._end)
        code = self._parent.ask({"wait": self.pid})
        self.log_file.unlink()
        return code


class ForkServer:
    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.cluster.forked_operators"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any]) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            return int(stdout.readline())

    def operator(self, kubeconfig: str | os.PathLike[str], *flags: str) -> ForkedOperator:
        handle, name = tempfile.mkstemp(prefix="traincrew-operator-", suffix=".log")
        os.close(handle)
        silent = ("--metrics-bind-address", "0", "--health-probe-bind-address", "0")
        pid = self.ask({"argv": ["traincrew", "operator", "--kubeconfig", str(kubeconfig), *silent, *flags], "log": name})
        return ForkedOperator(self, pid, pathlib.Path(name))

    def close(self) -> None:
        self._process.communicate(timeout=10)


@contextlib.contextmanager
def fork_server() -> Iterator[ForkServer]:
    found = ForkServer()
    try:
        yield found
    finally:
        found.close()


def _serve() -> None:
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork() or _become(request["argv"], request["log"])
        print(answer, flush=True)


def _become(argv: list[str], log: str) -> int:
    """The child process: runs `traincrew`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (file, 1), (file, 2)):
        os.dup2(source, target)
    sys.argv = argv
    code = 70
    try:
        importlib.import_module("traincrew.cli.main").main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
