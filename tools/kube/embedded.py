"""`traincrew up` in the place of kube-apiserver and etcd, for the same tests: KUBE=embedded."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import requests
import yaml
from tools.kube import build, cluster, issued_certificates
from tools.kube.process import Process, make_directory

START_LIMIT = 60.0


class EmbeddedCluster(cluster.Cluster):
    """The embedded API server, everything in one temporary directory. No controllers run in it.

    It takes a free port and keeps it over restarts, as it does for everybody.
    """

    def __init__(self, *flags: str) -> None:
        self.directory = make_directory()
        super().__init__(self.directory / "data" / "kubeconfig", None)
        self.administrator = "kubernetes-admin"
        self.bootstrapped = True
        self._flags = flags
        self.processes: dict[str, Process] = {}
        self.audit_log = self.directory / "audit.log"
        self.audit_log.touch()

    def start_apiserver(self) -> None:
        """Returns when it is ready."""
        note = self.directory / "data" / "running.json"
        note.unlink(missing_ok=True)
        command: list[str | Path] = [
            sys.executable, "-m", "traincrew.cli.main", "up", "--no-node", "--data", self.directory / "data",
            "--audit-log", self.audit_log, "--no-controllers", *self._flags,
        ]  # fmt: skip
        process = Process("traincrew", command, self.directory, {})
        self.processes["kube-apiserver"] = process
        deadline = time.monotonic() + START_LIMIT
        while not note.exists():
            if not process.alive() or time.monotonic() > deadline:
                raise RuntimeError(f"traincrew up did not start\n{process.last_lines()}")
            time.sleep(0.02)

    def token(self, namespace: str, service_account: str) -> str:
        """Asked for as kubectl does it, but without a kubectl: that takes long to build."""
        config = self.config()
        server = config["clusters"][0]["cluster"]["server"]
        url = f"{server}/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        body: Any = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"expirationSeconds": 86400}}
        headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        answer = requests.post(url, json=body, headers=headers, verify=str(self.authority), timeout=30)
        answer.raise_for_status()
        token: str = answer.json()["status"]["token"]
        return token

    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self.kubeconfig.read_text())
        return found

    def forget_history(self) -> None:
        raise cluster.NotOurs("the embedded API server keeps its history over restarts")

    def kill_apiserver(self) -> None:
        if process := self.processes.pop("kube-apiserver", None):
            process.kill()

    def start_controller_manager(self, *flags: str) -> None:
        """The real one: it is a client like any other, but for protobuf, which our server does not speak."""
        common = [
            f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
            "--kube-api-content-type=application/json", "--kube-api-qps=1000", "--kube-api-burst=2000",
        ]  # fmt: skip
        name = "kube-controller-manager"
        self.processes[name] = Process(name, [build.program(name), *common, *flags], self.directory, {})

    def stop_controller_manager(self) -> None:
        if process := self.processes.pop("kube-controller-manager", None):
            process.kill()

    @property
    def authority(self) -> Path:
        """The certificate that its own, and its calls to nodes, are known by."""
        return self.directory / "data" / "pki" / "ca.crt"

    def node_certificate(self, directory: Path) -> tuple[Path, Path]:
        from traincrew.embedded.pki import certificates

        pki = certificates.ensure(self.directory / "data" / "pki", ())
        made = directory / "node.pem"
        made.write_bytes(issued_certificates.for_node(pki, "node", ["127.0.0.1"]))
        return made, made

    def audit(self, since: int = 0, until: int | None = None) -> list[dict[str, Any]]:
        with self.audit_log.open("rb") as log:
            log.seek(since)
            lines = log.read(-1 if until is None else until - since).splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def audit_size(self) -> int:
        return self.audit_log.stat().st_size

    def pid(self, program: str) -> int:
        return self.processes[program].pid

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def start(*flags: str) -> EmbeddedCluster:
    """Without flags no operator runs in it."""
    flags = flags or ("--no-operator",)
    started = EmbeddedCluster(*flags)
    try:
        started.start_apiserver()
    except BaseException:
        started.stop()
        raise
    return started
