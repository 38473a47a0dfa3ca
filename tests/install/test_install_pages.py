"""Every command of docs/install.md and of the install sections of docs/seeds, in order, on a real API server."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.install.helm import ROOT
from tools.clients import go_programs
from tools.kube import build, cluster

from traincrew.kinds import KINDS

PAGES = ("docs/install.md", "docs/seeds/000.md", "docs/seeds/002.md", "docs/seeds/003.md")
ELSEWHERE = {
    "make image": "tests/kubelet builds and imports the image",
    "make image release": "tests/kubelet; `make release` is run below",
    "make release": "tests/install/test_release_files.py",
    "skopeo": "tests/dockerfile/test_registry.py",
    "ctr ": "tests/kubelet",
    "kubectl -n kubeflow rollout status": "tests/install/test_installed_operator.py runs it; here no node runs the pods",
}
"""Beginnings of commands that are not run here → where they are, or why nowhere."""
REMOVE = (
    "helm uninstall traincrew", "helm uninstall team-c",
    "kubectl delete -k manifests/base --ignore-not-found", "kubectl delete -k manifests/policies --ignore-not-found",
    "kubectl delete namespace kubeflow mpi-operator pytorch-operator --ignore-not-found",
)  # fmt: skip


CREATE = re.compile(r"kubectl (create|apply) |sed .* \| kubectl create ")
"""Commands of a seed's page after its section Install that need no pod. tests/seeds runs the jobs."""


def blocks(page: str) -> list[str]:
    """The commands of a page; of a seed's page those of its section Install, and those that create objects.

    Blocks with output have no command.
    """
    text = (ROOT / page).read_text()
    if "seeds" not in page:
        return _blocks(text)
    install, *others = text[text.index("## Install") :].split("\n## ")
    after = [line for block in _blocks("\n## ".join(others)) for line in block.splitlines() if CREATE.match(line)]
    return [*_blocks(install), *after]


def _blocks(text: str) -> list[str]:
    found = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if re.match(r"(helm|kubectl|make|mkdir|sed|\()", block)]


class Shell:
    """A directory that looks like a checkout, with the real programs on the PATH."""

    def __init__(self, kube: cluster.OwnCluster, directory: pathlib.Path) -> None:
        self._directory = directory
        for name in ("manifests", "charts", "examples"):
            (directory / name).symlink_to(ROOT / name)
        programs = [go_programs.program("helm"), go_programs.program("kustomize"), build.program("kubectl")]
        path = ":".join([*(str(program.parent) for program in programs), os.environ["PATH"]])
        own = {"PATH": path, "KUBECONFIG": str(kube.kubeconfig), "HOME": str(directory), "KUBECACHEDIR": str(directory / "cache")}
        self._environment = {**os.environ, **own}

    def __call__(self, script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-euo", "pipefail", "-c", script]
        return subprocess.run(
            command, cwd=self._directory, env=self._environment, capture_output=True, text=True, check=False, timeout=300
        )


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    directory = tmp_path_factory.mktemp("checkout")
    with cluster.start() as kube:
        kube.start_controller_manager()  # it deletes what is in a deleted namespace
        subprocess.run([sys.executable, "-m", "tools.release", "--output", str(directory / "dist")], cwd=ROOT, check=True)
        yield Shell(kube, directory)


def runnable(block: str) -> str:
    lines = [line for line in block.splitlines() if not line.startswith(tuple(ELSEWHERE))]
    return "\n".join(lines)


def succeed(shell: Shell, script: str) -> None:
    done = shell(script)
    assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_as_they_are_written(shell: Shell, page: str) -> None:
    ran = 0
    for block in blocks(page):
        script = runnable(block)
        if re.search(r"^(helm install|mkdir)", script, re.MULTILINE):
            for command in REMOVE:
                shell(command)
        for directory in dict.fromkeys(re.findall(r"^kubectl delete -k (\S+)", script, re.MULTILINE)):
            succeed(shell, f"kubectl apply -k {directory}")  # for those who have installed it with kustomize
        succeed(shell, script)
        ran += bool(script)
    for command in REMOVE:
        shell(command)
    assert ran


def test_every_page_of_a_seed_lists_our_definitions_as_the_cluster_does() -> None:
    text = (ROOT / "docs/seeds/002.md").read_text()
    assert re.findall(r"^(\w+\.kubeflow\.org) ", text, re.MULTILINE) == sorted(f"{kind.plural}.kubeflow.org" for kind in KINDS)
