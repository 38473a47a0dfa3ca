"""Recordings of clients are compared with the real API server."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.embedded.clients import model_lifecycle, scripts
from tests.embedded.clients.kubectl_comparison import compare
from tests.embedded.clients.kubectl_runner import VERSIONS
from tools.kube import build

NEWEST = VERSIONS[0]


@pytest.fixture(scope="module")
def real() -> Iterator[pathlib.Path]:
    if build.kube() != NEWEST:
        pytest.skip(f"the embedded API server is measured by {NEWEST}")
    with servers.real_kubeconfig() as found:
        yield found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_api_server_says_what_is_recorded(real: pathlib.Path, version: str) -> None:
    report = compare(real, scripts.names(), [version])
    print(report.summary())
    assert not report.differences, "\n".join(map(str, report.differences))


def test_models_of_the_official_client_come_back_as_is_recorded(real: pathlib.Path) -> None:
    model_lifecycle.create_namespace(real)
    for kind in model_lifecycle.kinds():
        assert model_lifecycle.ObjectLifecycle(real, kind).run() == model_lifecycle.recorded(kind), kind
