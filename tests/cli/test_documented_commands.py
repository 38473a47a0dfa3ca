"""Every command of README.md and docs/cli.md runs as written. Those that cannot run here are listed with the reason."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli import documented_commands
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, write_manifests
from tests.cli.documented_commands import ROOT, DocumentedCommand
from tests.cluster import manifests
from tools.frameworks import cache_paths

PAGES = ("README.md", "docs/cli.md")
NOT_RUN = {
    "git clone <this repository> traincrew && cd traincrew": "the repository is there; <this repository> is a placeholder",
    "make image": "builds an image for minutes: `make test-kubelet` runs it",
    "helm install traincrew charts/traincrew --set image.repository=registry.example.com/traincrew": "tests/install/ runs it",
    "kubectl apply -k <your overlay>": "<your overlay> is a placeholder: tests/install/ applies the example",
    "python3 -m venv .venv && .venv/bin/pip install .": "replaces the environment of this test: `make test-release` installs",
    ".venv/bin/traincrew operator --kubeconfig ~/.kube/config": "the cluster here has an operator: tests/operator/ runs it",
    "make demo": "installs the development tools first: tests/cli/test_demo.py runs its program",
    "make framework-torch": "installs 3 GB: `make test-frameworks-core` runs it",
    "make test": "runs tests",
    "make test-cluster": "runs tests",
    "make test-frameworks-core": "runs tests",
    "traincrew port-forward mnist 8080": "another program may use port 8080: tests/cli/test_port_forward.py uses a free one",
    "traincrew tensorboard mnist": "needs TensorBoard: tests/frameworks/test_tensorboard.py runs it",
    "traincrew open": "needs a browser and the page of `make console`: tests/console_browser/ opens it",
    "traincrew open FILE": "FILE is a placeholder: tests/console_browser/test_recordings.py opens one",
    "traincrew open run-7.gz": "needs the page of `make console`: tests/console_browser/test_recordings.py opens one",
    "traincrew console": "needs the page of `make console`: tests/console_browser/ serves it",
    "pip install py-spy": "downloads a package, which is installed here",
    "worker-1 has printed nothing for 4 min, uses no CPU and has no connection to the other replicas; "
    "the others wait in barrier": "is an output",
}  # fmt: skip
UNTIL_INTERRUPTED = ("traincrew ls -w", "traincrew logs mnist -f --replica worker-1")
ENVIRONMENTS = {
    "kubectl create -f examples/pytorch-minimal.yaml": "torch",
    "kubectl get pytorchjob first -o wide": "torch",
    "kubectl logs first-master-0": "torch",
    "kubectl delete pytorchjob first": "torch",
    ".venv/bin/traincrew run examples/pytorch-minimal.yaml": "torch",
    ".venv/bin/traincrew run --image traincrew/torch --kind PyTorchJob --workers 3 "
    "-- python examples/pytorch/mnist/mnist.py": "torch",
    "traincrew run --kind PyTorchJob --workers 2 --elastic 1:4 -- python train.py": "torch",
    "traincrew run --kind MPIJob --workers 2 --gpus 1 -- python train.py": "openmpi4",
}  # fmt: skip
"""Commands that need a framework, which `make frameworks` installs."""
CHANGES = {"delete", "down", "suspend", "resume", "scale"}
PROGRAMS = ("kubectl", "jq")
COMMANDS = [command for page in PAGES for command in documented_commands.read(page)]
PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the first process of a container has no default action
while True:
    print("step", flush=True)
    time.sleep(0.5)
"""


class User:
    """A user at a machine: a home, a directory with his files, a cluster and the job mnist."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.data, self.home, self.work = (directory / name for name in ("data", "home", "work"))
        for path in (
            self.home / ".config" / "fish" / "completions",
            self.home / ".kube",
            self.work,
            directory / "job" / "checkpoints",
        ):
            path.mkdir(parents=True)
        config = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
        kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "VIRTUAL_ENV")}
        self.env = {
            **kept, "HOME": os.fspath(self.home), "TRAINCREW_DATA": os.fspath(self.data), "XDG_CONFIG_HOME": os.fspath(config),
            "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "200",
        }  # fmt: skip
        (self.work / "train.py").write_text("print('trained')\n")
        (self.work / "data.csv").write_text("1,2\n")
        (directory / "job" / "checkpoints" / "step-1").write_text("weights")
        (directory / "job" / "program.py").write_text(PROGRAM)
        self.mnist_runs = False
        self.mnist = write_manifests(directory, mnist(directory / "job"), name="mnist.yaml")
        write_manifests(self.work, short(), name="job.yaml")

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["traincrew", *arguments], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=2 * TIMEOUT_SECONDS
        )

    def ensure_cluster(self) -> None:
        if not (self.data / "running.json").exists():
            started = self("up", "--detach", "--device", "nvidia.com/gpu=4")
            assert started.returncode == 0, started.stderr
            shutil.copy(self.data / "kubeconfig", self.home / ".kube" / "config")

    def has(self, job: str) -> bool:
        """Not `describe`, which shows a deleted job from the history."""
        return any(line.rpartition("/")[2] == job for line in self("ls", "-o", "name").stdout.splitlines())

    def ensure_mnist(self) -> None:
        """With at least two running workers."""
        if self.mnist_runs:
            return
        if not self.has("mnist"):
            assert self("run", "--detach", self.mnist).returncode == 0
        elif json.loads(self("describe", "mnist", "-o", "json").stdout)["spec"].get("runPolicy", {}).get("suspend"):
            assert self("resume", "mnist").returncode == 0
        for replica in ("worker-0", "worker-1"):
            self.until_it_prints("mnist", replica)
        self.mnist_runs = True

    def ensure_first(self) -> None:
        if not self.has("first"):
            assert self("run", "--detach", os.fspath(ROOT / "examples" / "pytorch-minimal.yaml")).returncode == 0
        self.until_it_prints("pytorchjob/first", "master-0")

    def until_it_prints(self, job: str, replica: str) -> None:
        deadline = time.monotonic() + 5 * TIMEOUT_SECONDS  # three processes import torch on a busy machine
        while not (found := self("logs", job, "--replica", replica, "--tail", "1")).stdout:
            assert time.monotonic() < deadline, found.stderr
            time.sleep(0.2)

    def prepare(self, command: str) -> None:
        """What the page says before the command."""
        self.ensure_cluster()
        if "job.yaml" in command:
            self("delete", "short", "--wait")
        if "pytorch-minimal.yaml" in command:
            self("delete", "pytorchjob/first", "--wait")
        if "pytorchjob first" in command or "first-master-0" in command:
            self.ensure_first()
        if " mnist" in command or "$(traincrew ls" in command:
            self.ensure_mnist()
        if set(command.split()) & CHANGES:
            self.mnist_runs = False

    def start(self, command: DocumentedCommand) -> subprocess.Popen[str]:
        env, directory = self.env, ROOT if command.page == "README.md" else self.work
        if command.text in ENVIRONMENTS and command.page != "README.md":
            env = {**env, "PATH": f"{framework(ENVIRONMENTS[command.text])}/bin:{env['PATH']}"}
        return subprocess.Popen(
            ["bash", "-c", command.text], cwd=directory, env=env, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip


def mnist(directory: pathlib.Path) -> dict[str, Any]:
    """An elastic job, so that it can be scaled while it runs."""
    worker = manifests.replicas("PyTorchJob", 2)
    container = worker["template"]["spec"]["containers"][0]
    path = os.fspath(directory)
    container |= {
        "command": ["python3", "program.py"],
        "workingDir": path,
        "volumeMounts": [{"name": "p", "mountPath": path}],
    }
    worker["template"]["spec"]["volumes"] = [{"name": "p", "hostPath": {"path": path}}]
    return manifests.job("PyTorchJob", name="mnist", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 6}}, Worker=worker)


def short() -> dict[str, Any]:
    master = manifests.replicas("PyTorchJob", 1)
    master["template"]["spec"]["containers"][0]["command"] = ["echo", "trained"]
    return manifests.job("PyTorchJob", name="short", Master=master)


def framework(name: str) -> pathlib.Path | None:
    return next(cache_paths.root().glob(f"{name}-[0-9a-f]*"), None)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    found = User(tmp_path_factory.mktemp("documented"))
    try:
        yield found
    finally:
        found("delete", "--all", "--wait")
        found("down", "--grace", "0")


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Ctrl-C after the first line."""
    assert process.stdout is not None
    assert process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, err


@pytest.mark.parametrize("command", [pytest.param(each, id=each.text) for each in COMMANDS if each.text not in NOT_RUN])
def test_a_command_runs_as_written(user: User, command: DocumentedCommand) -> None:
    needed = ENVIRONMENTS.get(command.text, "")
    if needed and framework(needed) is None:
        pytest.skip(f"`make framework-{needed}` has not been run")
    missing = [each for each in PROGRAMS if each in command.text.split() and shutil.which(each) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    user.prepare(command.text)
    process = user.start(command)
    try:
        if command.text in UNTIL_INTERRUPTED:
            code, err = interrupt(process)
            assert code in (0, 130), err
        else:
            out, err = process.communicate(timeout=5 * TIMEOUT_SECONDS)
            assert process.returncode == 0, f"{out}{err}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "Traceback" not in err


def test_every_listed_command_is_on_a_page() -> None:
    shown = {command.text for command in COMMANDS}
    assert not {*NOT_RUN, *UNTIL_INTERRUPTED, *ENVIRONMENTS} - shown


def test_the_chinese_page_shows_the_same_commands() -> None:
    shown = [command.text for command in documented_commands.read("README.zh-CN.md")]
    here = [command.text for command in documented_commands.read("README.md")]
    assert [text for text in shown if "<" not in text] == [text for text in here if "<" not in text]
