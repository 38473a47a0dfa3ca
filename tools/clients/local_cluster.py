"""The cluster that the clients are tested with: `traincrew up` with a data directory of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from tools.kube import build

_PAGE = "mkdir -p /usr/share/nginx/html; cd /usr/share/nginx/html; echo 'Welcome to nginx!' > index.html"
IMAGES = {
    "*/pause": ["sleep", "infinity"],
    "nginx": ["sh", "-c", f"{_PAGE}; exec python3 -m http.server 80"],
    "*/nginx": ["sh", "-c", f"{_PAGE}; exec python3 -m http.server 80"],
}
"""Commands of images whose containers name none. No image is pulled: a server of Python is in place of nginx."""


@contextlib.contextmanager
def started() -> Iterator[dict[str, str]]:
    """Yields the environment of clients: KUBECONFIG, kubectl on PATH and a home of their own."""
    home = Path(tempfile.mkdtemp(prefix="traincrew-clients-", dir="/var/tmp"))
    data = home / "data"
    data.mkdir(mode=0o700)
    images = [{"pattern": pattern, "command": command} for pattern, command in IMAGES.items()]
    (data / "images.yaml").write_text(yaml.safe_dump({"version": 1, "images": images}))
    environment = _environment(home, data)
    try:
        _traincrew(environment, "up", "--detach")
        _create_system_pod(environment)
        yield environment
    finally:
        _traincrew(environment, "down")
        shutil.rmtree(home, ignore_errors=True)


def _create_system_pod(environment: dict[str, str]) -> None:
    """Tests of clients expect that pods run in kube-system, where other clusters have their components."""
    kubectl = ["kubectl", "--namespace", "kube-system"]
    run = [*kubectl, "run", "component", "--image=registry.k8s.io/pause", "--labels=component=other"]
    subprocess.run(run, env=environment, check=True, stdout=sys.stderr)
    wait = [*kubectl, "wait", "--for=condition=Ready", "pod/component"]
    subprocess.run(wait, env=environment, check=True, stdout=sys.stderr)


def _environment(home: Path, data: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "TRAINCREW_CACHE") if name in os.environ}
    programs = str(build.program("kubectl").parent)
    own = {"HOME": str(home), "TRAINCREW_DATA": str(data), "KUBECONFIG": str(data / "kubeconfig"), "COLUMNS": "200"}
    return {**kept, **own, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}


def _traincrew(environment: dict[str, str], *arguments: str) -> None:
    program = Path(sys.executable).with_name("traincrew")
    subprocess.run([str(program), *arguments], env=environment, cwd=environment["HOME"], check=True, stdout=sys.stderr)
