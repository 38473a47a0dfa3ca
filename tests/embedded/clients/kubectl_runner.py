"""Runs a script with one version of kubectl on the server of a kubeconfig."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

from tests.cluster.api import Api, eventually
from tests.embedded.clients import scripts
from tests.embedded.clients.normalization import normalize, sorted_json
from tests.embedded.clients.transcripts import TranscriptEntry, outcome
from tools.kube import build

VERSIONS = ("1.32", "1.28")
CONCURRENCY = 3
LIMIT = 60.0  # seconds for one command


class KubectlRunner:
    def __init__(self, kubeconfig: pathlib.Path, version: str, directory: pathlib.Path) -> None:
        self.api = Api(kubeconfig)
        self.version = version
        self._program = build.program("kubectl", version)
        self._directory = directory
        # The cache is keyed by host and port, and another server may have had this port before.
        cache = {"KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(directory / "cache"), "HOME": str(directory)}
        self._environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()} | cache

    def run(self, script: str) -> list[TranscriptEntry]:
        namespace = f"{script}-{self.version.replace('.', '-')}"
        self._create_namespace(namespace)
        files = self._files(namespace)
        entries, watching = [], []
        try:
            for line in scripts.read(script, namespace):
                if isinstance(line, scripts.Watch):
                    watching.append(_KubectlWatch(self._command(line.words, namespace), self._environment, files))
                elif isinstance(line, scripts.WatchEnd):
                    entries.append(TranscriptEntry(line.line, outcome(0, normalize(watching.pop(0).ended(line.lines)), "")))
                else:
                    entries.append(TranscriptEntry(line.line, self._outcome(line, namespace, files)))
        finally:
            for left in watching:
                left.ended(0)
            self.api.call("DELETE", f"/api/v1/namespaces/{namespace}")
        return entries

    def _command(self, words: tuple[str, ...], namespace: str) -> list[str]:
        return [str(self._program), *words[:1], f"--namespace={namespace}", *words[1:]]

    def _outcome(self, step: scripts.ScriptStep, namespace: str, files: pathlib.Path) -> tuple[str, ...]:
        deadline = time.monotonic() + LIMIT
        while True:
            done = subprocess.run(
                self._command(step.words, namespace),
                env=self._environment | step.environment, cwd=files, input=step.given or "",
                capture_output=True, text=True, check=False, timeout=LIMIT,
            )  # fmt: skip
            if step.until in done.stdout + done.stderr:
                printed = sorted_json(done.stdout) if "--raw" in step.words else done.stdout
                return outcome(done.returncode, normalize(printed), normalize(done.stderr))
            assert time.monotonic() < deadline, f"{step.line}: {done.stdout}{done.stderr}"
            time.sleep(0.1)

    def _create_namespace(self, namespace: str) -> None:
        """Creates the namespace again and waits for the objects that controllers create in it."""
        if self.api.find("namespaces", "", namespace):
            self.api.call("DELETE", f"/api/v1/namespaces/{namespace}")
            eventually(lambda: not self.api.find("namespaces", "", namespace))
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        eventually(lambda: self.api.find("serviceaccounts", namespace, "default"))
        eventually(lambda: self.api.find("configmaps", namespace, "kube-root-ca.crt"))

    def _files(self, namespace: str) -> pathlib.Path:
        """The files of the scripts, with the namespace filled in."""
        here = self._directory / namespace
        for file in scripts.FILES.rglob("*.*"):
            copy = here / file.relative_to(scripts.FILES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text().replace("$NS", namespace))
        return here


class _KubectlWatch:
    """A kubectl that runs in the background. Its output is compared, its exit code is not."""

    def __init__(self, command: list[str], environment: dict[str, str], directory: pathlib.Path) -> None:
        self._out, self._err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen([*command, "-v=6"], env=environment, cwd=directory, stdout=self._out, stderr=self._err)
        eventually(self._has_started, because=f"{command} did not start to watch")

    def _has_started(self) -> bool:
        self._err.seek(0)
        return any("watch=true" in line and "200 OK" in line for line in self._err)

    def ended(self, lines: int) -> str:
        try:
            with contextlib.suppress(AssertionError):
                eventually(lambda: len(self._output().splitlines()) >= lines, seconds=15)
            self._process.send_signal(signal.SIGINT)
            self._process.wait(10)
            return self._output()
        finally:
            self._process.kill()
            self._process.wait()
            self._out.close()
            self._err.close()

    def _output(self) -> str:
        self._out.seek(0)
        return self._out.read()


def run_all(kubeconfig: pathlib.Path, version: str, names: list[str]) -> Iterator[tuple[str, list[TranscriptEntry]]]:
    """Runs several scripts concurrently, each in its own namespace."""
    with (
        tempfile.TemporaryDirectory(prefix="traincrew-kubectl-") as directory,
        concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as pool,
    ):
        runner = KubectlRunner(kubeconfig, version, pathlib.Path(directory))
        yield from zip(names, pool.map(runner.run, names), strict=True)
