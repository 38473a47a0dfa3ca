"""The console of `traincrew up`: it listens from the start, and its process is started by the first browser.

So a cluster whose console nobody opens costs neither time nor memory for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import socket
import subprocess
import sys

import msgspec

from traincrew.cli.local_cluster import console_records
from traincrew.cli.local_cluster.console_records import ConsoleRecord
from traincrew.embedded import data_directory

DEFAULT_PORT = 8470
PAUSE_SECONDS = 1.0
"""Before a process that has ended is started again by the next browser."""


class ConsoleListener:
    """Listens as long as this process runs. The console ends with it: the process reads the end of its standard input."""

    def __init__(self, data: pathlib.Path, kubeconfig: pathlib.Path) -> None:
        self._data = data
        self._socket = _listen()
        host, port = self._socket.getsockname()[:2]
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self.record = ConsoleRecord(
            pid=os.getpid(),
            host=host,
            port=port,
            kubeconfig=os.fspath(kubeconfig),
            log_root=os.fspath(data / "logs"),
            history=os.fspath(data_directory.DataDirectory(data).history),
            secret=console_records.new_secret(),
            token=console_records.new_secret(),
        )
        console_records.write(data, self.record)

    def start(self) -> None:
        """In the event loop of the cluster: wait for the first browser."""
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._start_process)

    def close(self) -> None:
        console_records.remove(self._data, self.record)
        self._socket.close()

    def _start_process(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "traincrew.cli.local_cluster.console_process", str(self._socket.fileno())]
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                command, stdin=reading, stdout=subprocess.DEVNULL, pass_fds=(self._socket.fileno(),), start_new_session=True
            )
            os.write(writing, msgspec.json.encode(self.record) + b"\n")
        os.close(reading)
        self._waiting = asyncio.create_task(self._wait(writing))

    async def _wait(self, writing: int) -> None:
        """Until the process ends; the next browser starts another one."""
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            if self._process is None or self._process.poll() is not None:
                break
        os.close(writing)
        self.record = msgspec.structs.replace(self.record, token=console_records.new_secret())  # the first one may be used
        console_records.write(self._data, self.record)
        self.start()


def _listen() -> socket.socket:
    """At the port of the console, else at any that is free."""
    for port in (DEFAULT_PORT, 0):
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setblocking(False)
        try:
            found.bind(("127.0.0.1", port))
            found.listen(128)
        except OSError:
            found.close()
            if not port:
                raise
        else:
            return found
    raise AssertionError
