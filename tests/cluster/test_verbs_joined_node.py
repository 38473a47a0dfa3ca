"""cp, port-forward, stacks and tensorboard with a real kube-apiserver, which proxies their streams to the joined node."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest
from tests.cluster import installation, operators
from tests.cluster.api import eventually
from tests.console import tensorboard_stand_in
from tests.node import joined_node
from tests.node.joined_node import JoinedNode

from traincrew.embedded.kubelet.images import default_environment

SECONDS = 90
TRAIN = """
import faulthandler, http.server, signal
faulthandler.register(signal.SIGUSR1, all_threads=True)
def serve_the_directory():
    http.server.HTTPServer(("127.0.0.1", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
print("started", flush=True)
serve_the_directory()
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    """With a job whose replica serves its working directory, in which the logs of TensorBoard are, too."""
    with joined_node.joined_node() as found:
        installation.crds(found.kube)
        with operators.running(installation.rights(found.kube)):
            _create_job(found)
            found.running("j-worker-0")
            eventually(lambda: "started" in found.logs("j-worker-0"))
            yield found


def _create_job(machine: JoinedNode) -> None:
    work = machine.home / "work"
    work.mkdir()
    tensorboard_stand_in.install(work)
    (work / "train.py").write_text(TRAIN)
    (work / "runs").mkdir()
    (work / "runs" / "events.out").write_text("loss")
    container = {
        "name": "jax", "image": "a/b:1", "command": ["python", "train.py", "--logdir", "runs"], "workingDir": str(work),
        "env": [{"name": "PYTHONPATH", "value": str(work)}, {"name": "PYTHONSAFEPATH", "value": ""}],
    }  # fmt: skip
    # The environment has a volume of its own: pods do not see a clone below /tmp.
    paths = {"work": str(work), "environment": sys.prefix}
    container["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in paths.items()]
    volumes = [{"name": name, "hostPath": {"path": path}} for name, path in paths.items()]
    spec = {"containers": [container], "volumes": volumes}
    metadata = {"annotations": {default_environment.ANNOTATION: sys.prefix}}
    replica = {"replicas": 1, "template": {"metadata": metadata, "spec": spec}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "j"}}
    machine.create({**job, "spec": {"jaxReplicaSpecs": {"Worker": replica}}})


def _start(machine: JoinedNode, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "traincrew.cli.main", *arguments, "--kubeconfig", str(machine.kube.kubeconfig)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _run(machine: JoinedNode, *arguments: str) -> str:
    process = _start(machine, *arguments)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    return out


@contextlib.contextmanager
def _first_line(machine: JoinedNode, *arguments: str) -> Iterator[str]:
    """The first line of a command that runs until it is interrupted."""
    process = _start(machine, *arguments)
    assert process.stdout is not None
    try:
        yield process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as response:
        return str(response.read().decode())


def test_files_are_copied_in_both_directions(machine: JoinedNode, tmp_path: pathlib.Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "data.bin").write_bytes(content)
    _run(machine, "cp", f"{tmp_path}/data.bin", "j:copied.bin")
    assert (machine.home / "work" / "copied.bin").read_bytes() == content
    _run(machine, "cp", "j:copied.bin", f"{tmp_path}/back.bin")
    assert (tmp_path / "back.bin").read_bytes() == content


def test_a_port_of_the_replica_is_reached(machine: JoinedNode) -> None:
    with _first_line(machine, "port-forward", "j", ":8000") as line:
        port = line.split(":")[1].split()[0]
        assert "train.py" in _read(f"http://127.0.0.1:{port}/")


def test_the_program_prints_its_stacks_after_a_signal(machine: JoinedNode) -> None:
    assert "serve_the_directory" in _run(machine, "stacks", "j", "--signal", "USR1")


def test_tensorboard_runs_beside_the_job_and_is_deleted_after_the_interrupt(machine: JoinedNode) -> None:
    with _first_line(machine, "tensorboard", "j", "--port", "0", "-o", "name") as url:
        assert "events.out" in _read(url.strip())
    machine.gone("j-tensorboard")
