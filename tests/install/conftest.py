import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Api
from tests.install import earlier_release
from tests.install.helm import Helm
from tools.clients import go_programs
from tools.kube import cluster


@pytest.fixture(scope="session", autouse=True)
def built(request: pytest.FixtureRequest) -> None:
    """helm and kustomize: the first run builds them and prints its progress."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        for name in ("helm", "kustomize"):
            go_programs.program(name)


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm without a cluster."""
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def earlier() -> Iterator[pathlib.Path]:
    """The source tree of an earlier release."""
    with earlier_release.unpacked() as source:
        yield source


@pytest.fixture
def kube() -> Iterator[cluster.OwnCluster]:
    """A real API server on which nothing is installed."""
    with cluster.start() as started:
        yield started


@pytest.fixture
def on_kube(kube: cluster.OwnCluster, tmp_path: pathlib.Path) -> Helm:
    return Helm(tmp_path, kube.kubeconfig)


@pytest.fixture
def api(kube: cluster.OwnCluster) -> Api:
    return Api(kube.kubeconfig)
