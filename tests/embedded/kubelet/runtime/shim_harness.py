"""Starts shims and containers in a data directory, and checks for leaks at the end."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pathlib
import subprocess
import sys
import uuid
from typing import Any

from tests.embedded.kubelet import leak_detection

from traincrew.embedded.kubelet.runtime import runtime, spec
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions

_USERNS_PROCESS = """
import sys
sys.path.append(sys.argv[1])
from traincrew.embedded.kubelet.runtime import user_namespace
user_namespace.enter()
print("ready", flush=True)
sys.stdin.read()
"""


class ShimHarness:
    def __init__(self, data: pathlib.Path, isolation: spec.Isolation) -> None:
        self.data, self.isolation = data, isolation
        data.mkdir(mode=0o700, exist_ok=True)
        self.group = f"traincrew-test-{uuid.uuid4().hex[:12]}"
        self.template: runtime.TemplateClient
        self._shims: list[runtime.ShimClient] = []
        self._userns_process: subprocess.Popen[bytes] | None = None

    async def open(self) -> ShimHarness:
        self.template = await runtime.TemplateClient.start(self.data, self.isolation, self._userns())
        return self

    def _userns(self) -> int | None:
        if self.isolation != spec.Isolation.USER:
            return None
        source = str(pathlib.Path(runtime.__file__).parents[4])
        arguments = [sys.executable, "-c", _USERNS_PROCESS, source]
        self._userns_process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._userns_process.stdout is not None
        assert self._userns_process.stdout.readline() == b"ready\n"
        return self._userns_process.pid

    async def close(self) -> None:
        for shim in self._shims:
            await shim.stop()
        for pod in sorted(self.data.glob("node/pods/*")):
            await self.template.remove_pod(pod)
        await self.template.close()
        if self._userns_process is not None:
            self._userns_process.communicate()
        leak_detection.assert_no_leaks(self.data, self.group)

    def pod_spec(self, **values: Any) -> spec.PodSandboxConfig:
        uid = str(uuid.uuid4())
        directory = self.data / "node/pods" / uid
        directory.mkdir(parents=True, mode=0o700)
        pod = spec.PodSandboxConfig(uid, "default", "pod-1", "pod-1", str(directory), masked=(str(self.data),))
        return dataclasses.replace(pod, **values)

    async def pod(self, **values: Any) -> runtime.ShimClient:
        return self.keep(await self.template.fork(self.pod_spec(**values)))

    def keep(self, shim: runtime.ShimClient) -> runtime.ShimClient:
        """Stops the shim at the end of the test."""
        self._shims.append(shim)
        return shim

    def container(self, *argv: str, name: str = "main", attempt: int = 0, **values: Any) -> spec.ContainerConfig:
        env = {"HERE": str(self.data), **values.pop("env", {})}
        log = values.pop("log", str(self.data / "logs" / name))
        return spec.ContainerConfig(name, attempt, argv, env, log, **{"cwd": "/", **values})

    def shell(self, script: str, **values: Any) -> spec.ContainerConfig:
        return self.container("sh", "-c", script, **values)

    def log(self, name: str = "main", attempt: int = 0) -> list[tuple[str, str, bytes]]:
        """Stream, tag and text of every record, over all files."""
        directory, lines = self.data / "logs" / name, list[bytes]()
        for number in range(100, -1, -1):
            path = directory / (f"{attempt}.log.{number}" if number else f"{attempt}.log")
            if path.exists():
                lines += path.read_bytes().split(b"\n")[:-1]
        records = (line.split(b" ", 3) for line in lines)
        return [(stream.decode(), tag.decode(), text) for _, stream, tag, text in records]

    def output(self, name: str = "main", attempt: int = 0, stream: str = "stdout") -> bytes:
        return b"".join(text + (b"\n" if tag == "F" else b"") for name_, tag, text in self.log(name, attempt) if name_ == stream)


async def wait_for_exit(shim: runtime.ShimClient, name: str = "main", attempt: int = 0) -> spec.Exit:
    async with asyncio.timeout(30):
        async for each in shim.exits():
            if each == (name, attempt):
                break
    record = runtime.read_exit(shim.directory, name, attempt)
    assert record is not None
    return record


async def run_to_exit(harness: ShimHarness, shim: runtime.ShimClient, script: str, **values: Any) -> tuple[spec.Exit, bytes]:
    """Runs a container until it exits. Returns its exit record and its standard output."""
    container = harness.shell(script, **values)
    await shim.start(container)
    record = await wait_for_exit(shim, container.name, container.attempt)
    return record, harness.output(container.name, container.attempt)


async def execute(shim: runtime.ShimClient, *argv: str, name: str = "main", stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    session = await shim.exec(name, argv, ExecOptions(stdin=True, stdout=True, stderr=True))
    assert session.stdin is not None
    assert session.stdout is not None
    assert session.stderr is not None
    session.stdin.write(stdin)
    session.stdin.close()
    out, err, code = await asyncio.gather(read_all(session.stdout), read_all(session.stderr), session.wait())
    session.close()
    return code, out, err


async def read_all(reader: Any) -> bytes:
    pieces = list[bytes]()
    while piece := await reader.read(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


async def wait_until(condition: Any, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0.01)


def command_line(pid: int) -> list[str]:
    return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]


def exists(path: str) -> bool:
    return pathlib.Path(path).exists()


def ordinary() -> bool:
    return os.geteuid() != 0
