"""The image of the Dockerfile: its programs, and the operator as its default command. `make test-dockerfile` builds it."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
from collections.abc import Iterator

import pytest
from tests.cluster import installation, jobs_with_leader
from tests.cluster.api import eventually
from tests.dockerfile import runc_container
from tests.dockerfile.runc_container import ImageRoot
from tools.image import dockerfile
from tools.kube import build, cluster

from traincrew import __version__


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageRoot]:
    with runc_container.mounted(dockerfile.IMAGE, tmp_path_factory.mktemp("runc")) as found:
        yield found


def test_the_image_starts_the_operator_as_an_ordinary_user(image: ImageRoot) -> None:
    assert image.config["Entrypoint"] == ["/usr/local/bin/traincrew"]
    assert image.config["Cmd"] == ["operator"]
    assert image.config["User"] == "65532:65532"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["/usr/local/bin/traincrew", "--version"], __version__, id="traincrew"),
        pytest.param(["/usr/local/bin/kubectl", "version", "--client"], build.kubernetes_version("1.32"), id="kubectl"),
        pytest.param(["/bin/sh", "-c", "command -v nslookup"], "/usr/local/bin/nslookup", id="nslookup"),
        pytest.param(
            ["/bin/sh", "-c", "traincrew-wait 2>&1"], "--hosts-file is required", id="the waiter, which imports nslookup"
        ),
        pytest.param(["/bin/sh", "-c", "touch /x /opt/x /tmp/x; echo ended with $?"], "ended with 1", id="no writes"),
        pytest.param(["/bin/sh", "-c", "test -x /opt/traincrew/bin/pip; echo ended with $?"], "ended with 1", id="no pip"),
    ],
)
def test_the_programs_run_on_a_read_only_root(image: ImageRoot, words: list[str], expected: str) -> None:
    result = image.run(*words)
    assert expected in result.stdout, result.stderr


def test_the_operator_of_the_image_serves_a_job(image: ImageRoot, tmp_path: pathlib.Path) -> None:
    with cluster.start() as kube, contextlib.ExitStack() as stack:
        api = installation.crds(kube)
        account = tmp_path / "kubeconfig"
        shutil.copy(installation.rights(kube), account)
        account.chmod(0o644)
        flags = ("--kubeconfig=/kubeconfig", "--metrics-bind-address=0", "--health-probe-bind-address=0")
        command = [*image.config["Entrypoint"], *image.config["Cmd"], *flags]
        stack.enter_context(image.started(command, {account: "/kubeconfig"}))
        api.create("default", jobs_with_leader.job("PyTorchJob", 1))
        eventually(lambda: {"j-master-0", "j-worker-0"} <= api.names("pods", "default"), 60)
