"""kubectl, a current one and an old one, prints of the embedded API server what it prints of a real one.

What the real one says is recorded (`run.py --record`); tests/cluster/test_clients_agree.py sees that it still says so.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.embedded.clients import scripts
from tests.embedded.clients.player import VERSIONS
from tests.embedded.clients.run import compare
from tools.kube import build, cluster


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[pathlib.Path]:
    with servers.embedded_kubeconfig() as found:
        yield found


@pytest.mark.parametrize("version", VERSIONS)
def test_kubectl_prints_what_it_prints_of_a_real_api_server(kubeconfig: pathlib.Path, version: str) -> None:
    if os.environ.get(cluster.WITHOUT_BUILDS) and not build.is_there("kubectl", version):
        pytest.skip(f"kubectl {version} is not built yet: `make test-agreement` does it")
    report = compare(kubeconfig, scripts.names(), [version])
    print(report.tell())
    assert report.commands > 800
    assert not report.open, report.tell()
    assert not report.stale, "these differ no longer"
