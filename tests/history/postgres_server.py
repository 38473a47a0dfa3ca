"""A PostgreSQL server of Debian's package for a test session, as a user who is not root, at a socket of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

NOBODY = 65534
USER = NOBODY if os.geteuid() == 0 else None
"""PostgreSQL refuses to run as root."""
SECONDS = 60
INSTALL = "PostgreSQL is not installed: apt-get install postgresql"


def binaries() -> pathlib.Path | None:
    """The newest version of Debian's packages."""
    found = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class PostgresServer:
    def __init__(self, programs: pathlib.Path, directory: pathlib.Path) -> None:
        self._programs, self.directory = programs, directory
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "--pgdata", "data", "--username", "owner", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> str:
        command: list[str | os.PathLike[str]] = [self._programs / program, *arguments]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False, user=USER, group=USER)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        options = ("listen_addresses=", f"unix_socket_directories={self.directory}", "fsync=off", "logging_collector=off")
        with open(self.directory / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *(word for each in options for word in ("-c", each))],
                cwd=self.directory,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=USER,
                group=USER,
            )
        deadline = time.monotonic() + SECONDS
        while not self._is_ready():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        done = subprocess.run([self._programs / "pg_isready", "-h", self.directory, "-q"], check=False)
        return done.returncode == 0

    def stop(self) -> None:
        """At once: connections are ended."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(SECONDS)

    def log(self) -> str:
        return (self.directory / "log").read_text()

    def url(self, database: str, user: str = "owner") -> str:
        return f"postgresql:///{database}?host={self.directory}&user={user}"

    def execute(self, statement: str, database: str = "postgres") -> str:
        return self._run("psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-c", statement, self.url(database))

    def new_database(self) -> str:
        """Its name."""
        name = f"history_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return name


@contextlib.contextmanager
def running(programs: pathlib.Path) -> Iterator[PostgresServer]:
    directory = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-postgres-"))
    try:
        if USER is not None:
            os.chown(directory, USER, USER)
        server = PostgresServer(programs, directory)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory)
