"""The real kubectl on a cluster of the tests, in its whole and while it runs."""

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
"""What kubectl says when the (empty) first message of a stream comes before it has made its own end of that."""


class Kubectl:
    def __init__(self, program: pathlib.Path, kubeconfig: pathlib.Path) -> None:
        self.program = program
        # Its cache goes by host and port, and another cluster may have had this port before.
        cache = str(kubeconfig.with_name("kubectl-cache"))
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": cache}

    def __call__(self, *arguments: str, input: bytes = b"", code: int = 0) -> str:
        """What it says; it must end with that code."""
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
        """The port of this machine that leads to the pod's."""
        with self.begun("port-forward", target, f":{port}") as process:
            assert process.stdout is not None
            said = process.stdout.readline().decode()
            found = re.search(r"127\.0\.0\.1:(\d+)", said)
            assert found, said
            yield int(found[1])


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self._master, self._seen = process, master, ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, text: str) -> str:
        deadline = time.monotonic() + LIMIT
        while text not in self._seen:
            assert time.monotonic() < deadline, self._seen
            if select.select([self._master], [], [], 0.2)[0]:
                self._seen += self._read()
        return self._seen

    def _read(self) -> str:
        try:
            return os.read(self._master, 4096).decode(errors="replace")
        except OSError:  # the other side has been closed
            time.sleep(0.05)
            return ""
