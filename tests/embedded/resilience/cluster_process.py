"""A cluster as users run it: a `traincrew up` process, with clients that use its kubeconfig over HTTPS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import yaml
from tests.embedded.resilience import memory_limits

from traincrew.embedded.data_directory import DataDirectory

ROOT = pathlib.Path(__file__).parents[3]
TIMEOUT = 120.0
TRAINCREW = (sys.executable, "-m", "traincrew.cli.main")


def traincrew(*arguments: str | pathlib.Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a command. `before`: a prefix of the command line, such as `setpriv`."""
    command = [*before, *TRAINCREW, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)


class ClusterProcess:
    """`traincrew up` in the foreground. It can be started again on the same data."""

    def __init__(self, data: pathlib.Path, *flags: str) -> None:
        self.place, self.flags = DataDirectory(data), flags
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        return memory_limits.limited([*TRAINCREW, "up", "--no-node", "--data", str(self.place.data), *self.flags])

    def start(self, umask: int = 0o077) -> None:
        """Returns when the cluster is ready."""
        output = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command(), stdout=output, stderr=output, umask=umask)
        deadline = time.monotonic() + TIMEOUT
        while (state := self.place.running()) is None or state["pid"] != self.process.pid:
            assert self.process.poll() is None, f"the process ended: {self.log()[-2000:]}"
            assert time.monotonic() < deadline, f"the process is not ready: {self.log()[-2000:]}"
            time.sleep(0.01)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.process.wait(TIMEOUT)

    def log(self) -> str:
        return self.place.log.read_text(errors="replace") if self.place.log.exists() else ""

    def resident(self) -> int:
        assert self.process
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def config(self) -> dict[str, Any]:
        kubeconfig: dict[str, Any] = yaml.safe_load(self.place.kubeconfig.read_text())
        return kubeconfig

    @property
    def url(self) -> str:
        return str(self.config["clusters"][0]["cluster"]["server"])

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("https://").rpartition(":")
        return host, int(port)

    @property
    def token(self) -> str:
        return str(self.config["users"][0]["user"]["token"])

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.place.data / "pki" / "ca.crt"))

    @contextlib.asynccontextmanager
    async def client(self, **headers: str) -> AsyncIterator[aiohttp.ClientSession]:
        """An administrator's session, unless `headers` overrides its credentials."""
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        connector = aiohttp.TCPConnector(ssl=self.trust(), limit=0)
        wait = aiohttp.ClientTimeout(total=TIMEOUT)
        async with aiohttp.ClientSession(
            self.url, headers={key: value for key, value in sent.items() if value}, connector=connector, timeout=wait
        ) as session:
            yield session

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection for bytes that no HTTP library would send."""
        return await asyncio.open_connection(*self.address, ssl=self.trust())


@contextlib.contextmanager
def running(data: pathlib.Path, *flags: str) -> Iterator[ClusterProcess]:
    cluster = ClusterProcess(data, *flags)
    cluster.start()
    try:
        yield cluster
    finally:
        if cluster.process and cluster.process.poll() is None:
            cluster.kill()


def config_map(name: str, **data: str) -> bytes:
    return json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}).encode()
