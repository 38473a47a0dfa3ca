"""A current and an old kubectl print the same with the embedded API server as with a real one.

The output with the real one is recorded (`python -m tests.embedded.clients.kubectl_comparison --record`).
tests/cluster/test_clients_agree.py checks that the recording is current.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.embedded.clients import scripts
from tests.embedded.clients.kubectl_comparison import compare
from tests.embedded.clients.kubectl_runner import VERSIONS
from tools.kube import build, cluster


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[pathlib.Path]:
    with servers.embedded_kubeconfig() as path:
        yield path


@pytest.mark.parametrize("version", VERSIONS)
def test_kubectl_prints_the_same_as_with_a_real_api_server(kubeconfig: pathlib.Path, version: str) -> None:
    if os.environ.get(cluster.WITHOUT_BUILDS) and not build.is_there("kubectl", version):
        pytest.skip(f"kubectl {version} is not built yet: run `make test-agreement`")
    report = compare(kubeconfig, scripts.names(), [version])
    print(report.summary())
    assert report.commands > 800
    assert not report.open, report.summary()
    assert not report.stale, "accepted differences that no longer occur"
