"""A Kubernetes cluster for tests and benches: an API server of our own, or the one that KUBECONFIG names.

    from tools.kube import cluster

    with cluster.start() as kube:                            # always a fresh API server of our own
        kube.kubectl("get", "namespaces")
        run_operator(kubeconfig=kube.kubeconfig)

`connect()` is what the test suite calls: KUBECONFIG's cluster if that is set, else `start_any()`.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.kube import build, certificates, control_plane, prepared_data

WITHOUT_BUILDS = "TRAINCREW_WITHOUT_BUILDS"
"""Set: tests that need a program which is not built yet are skipped."""
TOKEN_LIFE = "24h"  # noqa: S105  a duration, not a secret


class NotOurs(Exception):
    """The operation needs an API server that this process started."""


class Cluster:
    """A cluster that a kubeconfig leads to."""

    def __init__(self, kubeconfig: Path, kubectl: Path | None) -> None:
        """Without a kubectl, one is found or built when it is first needed."""
        self.kubeconfig = kubeconfig
        """One file for the whole cluster's administrator, with everything embedded."""
        self._kubectl = kubectl
        self.administrator = "admin"
        """The user of the kubeconfig, if this process created it."""
        self.bootstrapped = False
        """Whether our CRDs and the operator's rights are there from the start."""

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the real kubectl. The exit code is the caller's to look at."""
        # Its cache goes by host and port, and another cluster may have had this port before.
        cache = str(self.kubeconfig.with_name("kubectl-cache"))
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": cache}
        command = [str(self._program()), *arguments]
        return subprocess.run(command, env=environment, input=input, capture_output=True, text=True, check=False)

    def _program(self) -> Path:
        if self._kubectl is None:
            if os.environ.get(WITHOUT_BUILDS) and not build.is_there("kubectl"):
                raise NotOurs("kubectl is not built yet: run `make kube`")
            self._kubectl = build.program("kubectl")
        return self._kubectl

    def token(self, namespace: str, service_account: str) -> str:
        command = ("create", "token", service_account, f"--namespace={namespace}", f"--duration={TOKEN_LIFE}")
        return self._run_kubectl(*command).strip()

    def config(self) -> dict[str, Any]:
        """The kubeconfig's content."""
        found: dict[str, Any] = json.loads(self._run_kubectl("config", "view", "--minify", "--flatten", "--raw", "--output=json"))
        return found

    def token_kubeconfig(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig beside ours that speaks as the service account (which must exist)."""
        token, config = self.token(namespace, service_account), self.config()
        config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
        path = self.kubeconfig.with_name(f"{namespace}-{service_account}.kubeconfig")
        path.write_text(json.dumps(config))
        return path

    def user_kubeconfig(self, user: str, *groups: str) -> Path:
        """A kubeconfig beside ours that speaks as the user, by a certificate."""
        raise self._not_ours("making a user")

    def restart_apiserver(self) -> None:
        """Kills the API server and starts it on the same port and the same data."""
        self.kill_apiserver()
        self.start_apiserver()

    def forget_history(self) -> None:
        """After this, watches from earlier versions have expired."""
        self.restart_apiserver()  # it then keeps only what happens from now on

    def kill_apiserver(self) -> None:
        raise self._not_ours("killing the API server")

    def start_apiserver(self) -> None:
        raise self._not_ours("starting the API server")

    def start_controller_manager(self, *flags: str) -> None:
        raise self._not_ours("starting kube-controller-manager")

    def stop_controller_manager(self) -> None:
        raise self._not_ours("stopping kube-controller-manager")

    def start_scheduler(self, *flags: str) -> None:
        raise self._not_ours("starting kube-scheduler")

    def node_certificate(self, directory: Path) -> tuple[Path, Path]:
        """Certificate and key for the HTTPS endpoint of a node on this machine, made in the directory.

        An API server without a CA for kubelets, as kube-apiserver by default, accepts any.
        """
        return certificates.Authority(directory).server("kubelet")

    def audit(self, since: int = 0, until: int | None = None) -> list[dict[str, Any]]:
        """The audit entries (Metadata level, without the stage RequestReceived), from byte `since` on, or up to `until`."""
        raise self._not_ours("reading the audit log")

    def audit_size(self) -> int:
        """Where the audit log ends now; later given to `audit`."""
        raise self._not_ours("reading the audit log")

    def pid(self, program: str) -> int:
        raise self._not_ours(f"the process of {program}")

    def stop(self) -> None:
        """Removes everything that this object created on this machine."""
        shutil.rmtree(self.kubeconfig.parent, ignore_errors=True)

    def _run_kubectl(self, *arguments: str) -> str:
        answer = self.kubectl(*arguments)
        answer.check_returncode()
        return answer.stdout

    def _not_ours(self, what: str) -> NotOurs:
        return NotOurs(f"{what} needs an API server of our own; this is the cluster of {os.environ.get('KUBECONFIG')}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class OwnCluster(Cluster):
    """etcd and kube-apiserver on free loopback ports, everything in one temporary directory."""

    def __init__(self, plane: control_plane.ControlPlane) -> None:
        super().__init__(plane.directory / "admin.kubeconfig", build.program("kubectl"))
        self.plane = plane
        self.kubeconfig.write_text(json.dumps(_kubeconfig(plane, plane.admin)))

    def user_kubeconfig(self, user: str, *groups: str) -> Path:
        path = self.plane.directory / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(json.dumps(_kubeconfig(self.plane, self.plane.authority.client(user, *groups))))
        return path

    def kill_apiserver(self) -> None:
        self.plane.kill("kube-apiserver")

    def start_apiserver(self) -> None:
        self.plane.start_apiserver()

    def start_controller_manager(self, *flags: str) -> None:
        self.plane.start_controller("kube-controller-manager", self.kubeconfig, flags)

    def stop_controller_manager(self) -> None:
        self.plane.kill("kube-controller-manager")

    def start_scheduler(self, *flags: str) -> None:
        self.plane.start_controller("kube-scheduler", self.kubeconfig, flags)

    def audit(self, since: int = 0, until: int | None = None) -> list[dict[str, Any]]:
        with self.plane.audit_log.open("rb") as log:
            log.seek(since)
            lines = log.read(-1 if until is None else until - since).splitlines(keepends=True)
        # The last line may still be in the writing.
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def audit_size(self) -> int:
        """Where the last whole line ends."""
        with self.plane.audit_log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            while end > 0:
                start = max(end - 65536, 0)
                log.seek(start)
                found = log.read(end - start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                end = start
        return 0

    def pid(self, program: str) -> int:
        return self.plane.processes[program].pid

    def stop(self) -> None:
        self.plane.stop()


def connect_with_operator() -> Cluster:
    """The embedded API server with the operator in its process, by the client without HTTP."""
    from tools.kube import embedded

    return embedded.start("--log-level", "info")


def start_any(options: control_plane.Options = control_plane.DEFAULT) -> Cluster:
    """What the tests of the operator run on: a real API server, or with KUBE=embedded ours."""
    if os.environ.get("KUBE") == "embedded":
        from tools.kube import embedded

        return embedded.start()
    return start_bootstrapped(options)


def start_bootstrapped(options: control_plane.Options = control_plane.DEFAULT) -> OwnCluster:
    """An API server that has our CRDs and the operator's rights."""
    started = start(options, prepared_data.directory(start))
    started.bootstrapped = True
    return started


def start(options: control_plane.Options = control_plane.DEFAULT, data: Path | None = None) -> OwnCluster:
    """data: directory of etcd that is copied."""
    plane = control_plane.ControlPlane(options)
    try:
        if data is not None:
            shutil.copytree(data, plane.data)
        plane.start_etcd()
        plane.start_apiserver()
        return OwnCluster(plane)
    except BaseException:
        plane.stop()
        raise


def connect() -> Cluster:
    if not os.environ.get("KUBECONFIG"):
        return start_any()
    kubectl = shutil.which("kubectl") or build.program("kubectl")
    flat = Path(tempfile.mkdtemp(prefix="traincrew-kubeconfig-")) / "admin.kubeconfig"
    view = [str(kubectl), "config", "view", "--minify", "--flatten", "--raw"]
    flat.write_bytes(subprocess.run(view, stdout=subprocess.PIPE, check=True).stdout)
    return Cluster(flat, Path(kubectl))


def _kubeconfig(plane: control_plane.ControlPlane, identity: tuple[Path, Path]) -> dict[str, Any]:
    def embedded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    certificate, key = identity
    user = {"client-certificate-data": embedded(certificate), "client-key-data": embedded(key)}
    server = {"server": plane.url, "certificate-authority-data": embedded(plane.authority.path)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": server}],
        "users": [{"name": "admin", "user": user}],
    }
