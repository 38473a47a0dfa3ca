"""`traincrew recorder` in a process, with the rights of its service account and no others."""

from __future__ import annotations

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tests.cluster.api import eventually
from tools.kube.cluster import Cluster

from traincrew import errors
from traincrew.history import database_thread
from traincrew.history.records import JobQuery, Recording
from traincrew.history.store import HistoryStore
from traincrew.validation import rbac_manifests

SECONDS = 90
ACCOUNT = f"{rbac_manifests.NAMESPACE}:{rbac_manifests.RECORDER}"


def kubeconfig(kube: Cluster) -> pathlib.Path:
    """Of the service account of the recorder."""
    documents = "\n".join(json.dumps(each) for each in rbac_manifests.recorder_documents())
    done = kube.kubectl("apply", "-f", "-", input=documents)
    assert done.returncode == 0, done.stderr
    return kube.token_kubeconfig(rbac_manifests.NAMESPACE, rbac_manifests.RECORDER)


class RecorderProcess:
    def __init__(self, config: pathlib.Path, location: str, log: pathlib.Path) -> None:
        self._config, self.location, self.log = config, location, log
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "traincrew.cli.main", "recorder", "--history", self.location]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, "--kubeconfig", str(self._config)], stdout=log, stderr=log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS) == 0, self.log.read_text()

    def read(self, function: Callable[[HistoryStore], Any]) -> Any:
        """None: nothing is recorded yet."""
        try:
            store = database_thread.open_store(self.location, writable=False)
        except errors.StoreError:
            return None
        try:
            return function(store)
        finally:
            store.close()

    def until(self, name: str, claim: Callable[[Recording], Any]) -> Recording:
        """The last job of the name, once the claim holds."""

        def found(store: HistoryStore) -> Recording | None:
            jobs = store.jobs(JobQuery(name=name))
            recording = store.recording(jobs[0].uid) if jobs else None
            return recording if recording is not None and claim(recording) else None

        waited: Recording = eventually(lambda: self.read(found), SECONDS)
        return waited

    def log_of(self, pod: str, container: str, run: int | None = None) -> list[str]:
        """Recorded lines without timestamps. run: of one run alone."""

        def lines(store: HistoryStore) -> list[str]:
            text, after = b"", (-1, -1)
            while (chunk := store.log(pod, container, after)) is not None:
                after = (chunk.run, chunk.number)
                text += chunk.lines if run in (None, chunk.run) else b""
            return [line.partition(b" ")[2].decode() for line in text.split(b"\n") if line]

        return self.read(lines) or []


@contextlib.contextmanager
def running(config: pathlib.Path, location: str, directory: pathlib.Path) -> Iterator[RecorderProcess]:
    recorder = RecorderProcess(config, location, directory / "recorder.log")
    try:
        yield recorder
    finally:
        recorder.stop()
