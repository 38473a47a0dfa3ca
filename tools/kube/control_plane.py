"""The servers of a cluster of our own: their flags, their start in order, their end."""

import contextlib
import http.client
import json
import os
import shutil
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.kube import build, certificates
from tools.kube.process import Port, Process, make_directory

START_LIMIT = 120.0  # seconds; a start takes five on an idle machine, but test machines are seldom idle
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class StartFailed(Exception):
    """A server ended or did not become ready; the message ends with its log's last lines."""


@dataclass(frozen=True)
class Options:
    audit: bool = True
    """Write the audit log. It costs the API server a few per cent of CPU."""
    priority_and_fairness: bool = True
    """As in a cluster by default. Off, only the limits of requests in flight are left (here: 10,000)."""
    disabled_admission: tuple[str, ...] = ("ServiceAccount",)
    """Nothing creates default service accounts unless kube-controller-manager is started."""
    flags: tuple[str, ...] = ()
    """More flags of kube-apiserver. They come last, so that they win."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of all servers, such as GOMAXPROCS."""
    durable: bool = False
    """etcd waits for the disk, as in a cluster. Tests have nothing to lose and do not."""
    parent: Path | None = None
    """The parent of their directory; by default in memory if there is enough."""


DEFAULT = Options()


class ControlPlane:
    def __init__(self, options: Options) -> None:
        self.directory = make_directory(options.parent)
        self.processes: dict[str, Process] = {}
        self.authority = certificates.Authority(self.directory)
        self.admin = self.authority.client("admin", "system:masters")
        self.audit_log = self.directory / "audit.log"
        self.data = self.directory / "etcd"
        self._serving = self.authority.server("kube-apiserver")
        self._at_nodes = self.authority.client("kube-apiserver-kubelet-client", "system:masters")
        self._options = options
        self._ports = {"etcd": Port(), "kube-apiserver": Port()}
        (self.directory / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))
        certificates.write_key(self.directory / "service-accounts.key")
        self.audit_log.touch()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._ports['kube-apiserver'].number}"

    def start_etcd(self) -> None:
        url = f"http://127.0.0.1:{self._ports['etcd'].number}"
        flags = {
            "data-dir": self.data,
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "socket-reuse-port": "true",
            # A single member has no peers: any port will do.
            "listen-peer-urls": "http://127.0.0.1:0",
            "initial-advertise-peer-urls": "http://127.0.0.1:0",
            "initial-cluster": "default=http://127.0.0.1:0",
            "unsafe-no-fsync": str(not self._options.durable).lower(),
            "quota-backend-bytes": 8 << 30,
            "log-level": "warn",
        }
        # The API server retries until etcd answers, so its readiness is awaited there.
        self._start("etcd", flags, ())

    def start_apiserver(self) -> None:
        self._start("kube-apiserver", self._apiserver_flags(), self._options.flags)
        self._await("kube-apiserver", "/readyz", lambda status: status == 200)
        # Made in the background a moment after readiness; everybody expects it to be there.
        self._await("kube-apiserver", "/api/v1/namespaces/default", lambda status: status == 200)

    def start_controller(self, name: str, kubeconfig: Path, flags: Sequence[str]) -> None:
        """kube-controller-manager or kube-scheduler, with an administrator's rights."""
        if name not in self._ports:
            self._ports[name] = Port()
        certificate, key = self._serving
        settings: dict[str, object] = {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "bind-address": "127.0.0.1",
            "secure-port": self._ports[name].number,
            "permit-port-sharing": "true",
            "tls-cert-file": certificate,
            "tls-private-key-file": key,
            "kube-api-qps": 1000,
            "kube-api-burst": 2000,
        }
        if name == "kube-controller-manager":
            settings["service-account-private-key-file"] = self.directory / "service-accounts.key"
            settings["root-ca-file"] = self.authority.path
        self._start(name, settings, flags)
        self._await(name, "/healthz", lambda status: status == 200)

    def kill(self, name: str) -> None:
        if process := self.processes.pop(name, None):
            process.kill()

    def stop(self) -> None:
        for name in reversed(list(self.processes)):
            self.kill(name)
        for port in self._ports.values():
            port.close()
        shutil.rmtree(self.directory)

    def _apiserver_flags(self) -> dict[str, object]:
        certificate, key = self._serving
        service_accounts = self.directory / "service-accounts.key"
        flags: dict[str, object] = {
            "etcd-servers": f"http://127.0.0.1:{self._ports['etcd'].number}",
            "bind-address": "127.0.0.1",
            "secure-port": self._ports["kube-apiserver"].number,
            "permit-port-sharing": "true",
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.96.0.0/12",
            "allow-privileged": "true",
            "tls-cert-file": certificate,
            "tls-private-key-file": key,
            "client-ca-file": self.authority.path,
            "kubelet-client-certificate": self._at_nodes[0],
            "kubelet-client-key": self._at_nodes[1],
            # As installers set them: a node reads what its own pods need, and writes itself and them.
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": service_accounts,
            "service-account-signing-key-file": service_accounts,
            "disable-admission-plugins": ",".join(self._options.disabled_admission),
            "enable-priority-and-fairness": str(self._options.priority_and_fairness).lower(),
            "max-requests-inflight": 10_000,
            "max-mutating-requests-inflight": 10_000,
        }
        if self._options.audit:
            flags["audit-policy-file"] = self.directory / "audit-policy.json"
            flags["audit-log-path"] = self.audit_log
            flags["audit-log-maxsize"] = 1 << 20  # MiB: one file, never rotated
        return flags

    def _start(self, name: str, flags: Mapping[str, object], more: Sequence[str]) -> None:
        command: list[str | Path] = [build.program(name), *(f"--{key}={value}" for key, value in flags.items()), *more]
        self.kill(name)
        self.processes[name] = Process(name, command, self.directory, self._options.env)

    def _await(self, name: str, path: str, good: Callable[[int], bool]) -> None:
        deadline = time.monotonic() + START_LIMIT
        while True:
            answer = self._status(self._ports[name].number, path)
            if answer is not None and good(answer):
                return
            dead = [process for process in self.processes.values() if not process.alive()]
            if dead or time.monotonic() > deadline:
                raise StartFailed(self._complaint(name, path, answer, dead))
            time.sleep(0.05)

    def _complaint(self, name: str, path: str, answer: int | None, dead: Sequence[Process]) -> str:
        logs = "\n".join(process.last_lines() for process in dead or self.processes.values())
        ended = f"{' and '.join(process.name for process in dead)} ended" if dead else f"waited {START_LIMIT:.0f} s"
        return f"{name} did not start: {ended}; {path} last answered {answer}\n{logs}"

    def _status(self, port: int, path: str) -> int | None:
        context = ssl.create_default_context(cafile=os.fspath(self.authority.path))
        context.load_cert_chain(*self.admin)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                return connection.getresponse().status
            except (OSError, http.client.HTTPException):
                return None
