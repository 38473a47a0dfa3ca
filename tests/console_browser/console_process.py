"""A cluster on this machine and `traincrew console` in processes of their own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tests.cluster.api import Api

TRAINCREW = [sys.executable, "-m", "traincrew.cli.main"]
SECONDS = 90


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Chromium is not installed. Run `make test-console-browser`, which installs it."
    return found


class Machine:
    def __init__(self, data: pathlib.Path) -> None:
        self.data = data

    def run(self, *arguments: str) -> str:
        command = [*TRAINCREW, *arguments, "--data", os.fspath(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS * 2)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def api(self) -> Api:
        return Api(self.data / "kubeconfig")

    def create(self, manifests: Iterable[dict[str, Any]]) -> None:
        for manifest in manifests:
            self.api.create("default", manifest)

    def conditions(self, job: str) -> set[str]:
        kind, name = job.split("/")
        status = self.api.get(f"{kind}s", "default", name).get("status", {})
        return {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}

    def wait(self, job: str, condition: str) -> None:
        deadline = time.monotonic() + SECONDS
        while condition not in self.conditions(job):
            assert time.monotonic() < deadline, f"{job} is not {condition}: {self.conditions(job)}"
            time.sleep(0.2)


@contextlib.contextmanager
def machine(data: pathlib.Path) -> Iterator[Machine]:
    found = Machine(data)
    found.run("up", "--detach")
    try:
        yield found
    finally:
        found.run("down")


class Console:
    def __init__(self, link: str, process: subprocess.Popen[str]) -> None:
        self.link = link
        self.origin = link.split("/#")[0]
        self.process = process


@contextlib.contextmanager
def console(machine: Machine, port: int = 0) -> Iterator[Console]:
    command = [*TRAINCREW, "console", "--port", str(port), "--data", os.fspath(machine.data)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    assert process.stdout is not None
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"http://\S+#token=\S+", line):
                yield Console(found[0], process)
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)
        process.stdout.close()
