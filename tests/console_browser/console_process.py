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
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tests.cluster.api import Api

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TRAINCREW = [sys.executable, "-m", "traincrew.cli.main"]
SECONDS = 90


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Chromium is not installed. Run `make test-console-browser`, which installs it."
    return found


class Machine:
    """Its configuration is beside its data: the image map of the user who runs the tests stays as it is."""

    def __init__(self, data: pathlib.Path) -> None:
        self.data = data
        self.config = data.parent / "config"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_CONFIG_HOME": os.fspath(self.config)}

    def run(self, *arguments: str) -> str:
        command = [*TRAINCREW, *arguments, "--data", os.fspath(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS * 2, env=self.environment)
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
def machine(data: pathlib.Path, *flags: str) -> Iterator[Machine]:
    found = Machine(data)
    found.run("up", "--detach", *flags)
    try:
        yield found
    finally:
        found.run("down")


class Console:
    def __init__(self, link: str, process: subprocess.Popen[bytes]) -> None:
        self.link = link
        self.origin = link.split("/#")[0]
        self.process = process


Serving = tuple[subprocess.Popen[bytes], pathlib.Path]
"""A process, and the file of its output."""


def printed(process: subprocess.Popen[bytes], output: pathlib.Path, pattern: str) -> str:
    """The first match in the output of the process. The output is a file: nobody reads a pipe while the tests run."""
    deadline = time.monotonic() + SECONDS
    while not (found := re.search(pattern, output.read_text())):
        assert process.poll() is None, output.read_text()
        assert time.monotonic() < deadline, output.read_text()
        time.sleep(0.05)
    return found[0]


@contextlib.contextmanager
def serving(
    machine: Machine, *flags: str, end: signal.Signals = signal.SIGINT
) -> Iterator[tuple[subprocess.Popen[bytes], pathlib.Path]]:
    """`traincrew console` with these flags, and the file of its output."""
    descriptor, name = tempfile.mkstemp(prefix="console-", suffix=".log", dir=machine.data.parent)
    command = [*TRAINCREW, "console", *flags, "--data", os.fspath(machine.data)]
    with open(descriptor, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**machine.environment, "PYTHONUNBUFFERED": "1"})
    try:
        yield process, pathlib.Path(name)
    finally:
        process.send_signal(end)
        process.wait(SECONDS)


@contextlib.contextmanager
def console(machine: Machine, port: int = 0) -> Iterator[Console]:
    with serving(machine, "--port", str(port)) as (process, output):
        yield Console(printed(process, output, r"http://\S+#token=\S+"), process)


def sign_in(chromium: Browser, console: Console, kept: pathlib.Path) -> pathlib.Path:
    """Open the link. The file gets cookie and local storage of the browser."""
    context = chromium.new_context(locale="en-US")
    page = context.new_page()
    page.goto(console.link)
    page.get_by_role("heading", name="Jobs", exact=True).wait_for()
    context.storage_state(path=kept)
    context.close()
    return kept
