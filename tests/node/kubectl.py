"""Runs the real kubectl against a cluster of the tests, to completion or interactively."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator

LIMIT = 60.0
HASTE = re.compile(r"^E\d{4} .*Unknown stream id \d+, discarding message\n", re.MULTILINE)
"""kubectl logs this if the empty first message of a stream arrives before kubectl has created the stream."""


class Kubectl:
    def __init__(self, program: pathlib.Path, kubeconfig: pathlib.Path) -> None:
        self.program = program
        # The cache is keyed by host and port, and another cluster may have used the same port.
        cache = str(kubeconfig.with_name("kubectl-cache"))
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": cache}

    def __call__(self, *arguments: str, input: bytes = b"", code: int = 0) -> str:
        """Returns the output. Fails if the exit code differs."""
        done = subprocess.run(
            [self.program, *arguments], env=self._environment, input=input, capture_output=True, check=False, timeout=LIMIT
        )
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        return done.stdout.decode() + (HASTE.sub("", done.stderr.decode()) if code else "")

    @contextlib.contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        with subprocess.Popen([self.program, *arguments], env=self._environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextlib.contextmanager
    def in_terminal(self, *arguments: str) -> Iterator[Terminal]:
        master, slave = pty.openpty()
        try:
            process = subprocess.Popen(
                [self.program, *arguments], env=self._environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
            )
            os.close(slave)
            with process:
                try:
                    yield Terminal(process, master)
                finally:
                    process.kill()
        finally:
            os.close(master)

    @contextlib.contextmanager
    def forwarding(self, target: str, port: int) -> Iterator[int]:
        """Yields the local port that is forwarded to the port of the pod."""
        with self.begun("port-forward", target, f":{port}") as process:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            match = re.search(r"127\.0\.0\.1:(\d+)", line)
            assert match, line
            yield int(match[1])


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self._master, self._output = process, master, ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, text: str) -> str:
        deadline = time.monotonic() + LIMIT
        while text not in self._output:
            assert time.monotonic() < deadline, self._output
            if select.select([self._master], [], [], 0.2)[0]:
                self._output += self._read()
        return self._output

    def _read(self) -> str:
        try:
            return os.read(self._master, 4096).decode(errors="replace")
        except OSError:  # the slave side is closed
            time.sleep(0.05)
            return ""
