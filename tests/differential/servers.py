"""The two servers: a real kube-apiserver with the controllers that the embedded one has built in, and the embedded one.

TRAINCREW_REAL and TRAINCREW_OURS name kubeconfigs of servers that run already.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import yaml
from tests.differential.target import Request, Target, start
from tools.kube import cluster, control_plane

ROOT = pathlib.Path(__file__).parents[2]
CRDS = ROOT / "manifests" / "crds"
READY = 30.0  # seconds
CONTROLLERS = (
    "garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
    "root-ca-certificate-publisher-controller", "resourcequota-controller",
    "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller",
)  # fmt: skip
OPTIONS = control_plane.Options(audit=False, disabled_admission=(), flags=("--disable-admission-plugins=",))


class NotReady(Exception):
    """The embedded server did not start. The message ends with its log."""


@contextlib.contextmanager
def real_kubeconfig(variable: str = "TRAINCREW_REAL") -> Iterator[pathlib.Path]:
    if given := os.environ.get(variable):
        yield pathlib.Path(given)
        return
    with cluster.start(OPTIONS) as started:
        for file in sorted(CRDS.glob("*.kubeflow.org.yaml")):
            started.kubectl("create", "-f", str(file)).check_returncode()
        started.kubectl("wait", "--for=condition=Established", "customresourcedefinitions", "--all").check_returncode()
        # Only now: the garbage collector discovers new kinds every half minute.
        started.start_controller_manager(f"--controllers={','.join(CONTROLLERS)}")
        yield started.kubeconfig


def second_kubeconfig() -> contextlib.AbstractContextManager[pathlib.Path]:
    """Another real server in place of the embedded one, to test the comparison itself."""
    return real_kubeconfig("TRAINCREW_OURS")


@contextlib.contextmanager
def embedded_kubeconfig() -> Iterator[pathlib.Path]:
    if given := os.environ.get("TRAINCREW_OURS"):
        yield pathlib.Path(given)
        return
    with (
        tempfile.TemporaryDirectory(prefix="traincrew-differential-") as directory,
        _embedded(pathlib.Path(directory)) as kubeconfig,
    ):
        yield kubeconfig


@contextlib.contextmanager
def _embedded(directory: pathlib.Path) -> Iterator[pathlib.Path]:
    log = directory / "up.log"
    data = directory / "data"
    command = [sys.executable, "-m", "tests.differential.embedded_server", str(data)]
    with log.open("wb") as output, subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output) as process:
        try:
            _wait_until_ready(process, data / "kubeconfig", log)
            yield data / "kubeconfig"
        finally:
            process.terminate()
            process.wait(20)


def _wait_until_ready(process: subprocess.Popen[bytes], kubeconfig: pathlib.Path, log: pathlib.Path) -> None:
    deadline = time.monotonic() + READY
    while process.poll() is None and time.monotonic() < deadline:
        if kubeconfig.exists() and _is_ready(kubeconfig):
            return
        time.sleep(0.05)
    raise NotReady(f"the embedded API server is not ready:\n{log.read_text()[-3000:]}")


def _is_ready(kubeconfig: pathlib.Path) -> bool:
    with contextlib.suppress(OSError, KeyError, TypeError, yaml.YAMLError):
        target = Target.from_kubeconfig("ours", kubeconfig)
        with contextlib.closing(target.connect(timeout=5)) as connection:
            return start(connection, target, Request("GET", "/readyz")).status == 200
    return False
