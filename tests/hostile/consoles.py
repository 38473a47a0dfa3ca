"""A console as a process of its own, under a memory limit, with a page of a test.

Usage: python -m tests.hostile.consoles KUBECONFIG DIRECTORY; prints the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

from tests.console.console_fixture import page
from tests.embedded.resilience import memory_limits

from traincrew.client import kubeconfig
from traincrew.console import links, run
from traincrew.console.settings import ConsoleTarget


class ConsoleProcess:
    def __init__(self, process: subprocess.Popen[str], log: pathlib.Path) -> None:
        self.process, self._log = process, log
        assert process.stdout is not None
        self.link = process.stdout.readline().strip()
        self.origin, _, self.token = self.link.partition("/#token=")
        assert self.token, self.log

    @property
    def log(self) -> str:
        return self._log.read_text()


@contextlib.contextmanager
def running(config: pathlib.Path, directory: pathlib.Path) -> Iterator[ConsoleProcess]:
    command = [sys.executable, "-m", "tests.hostile.consoles", os.fspath(config), os.fspath(directory / "page")]
    log = directory / "console.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(memory_limits.limited(command), stdout=subprocess.PIPE, stderr=stderr, text=True)
    with process:
        try:
            yield ConsoleProcess(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0, log.read_text()


async def _serve(config: str, directory: str) -> None:
    cluster = kubeconfig.load(config)
    target = ConsoleTarget(server=cluster.server, namespace=cluster.namespace, embedded=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    known, listening = links.Links(), run.Listen().socket()
    async with run.running(cluster, target, listening, page(pathlib.Path(directory)), known):
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={known.new_token()}", flush=True)
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
