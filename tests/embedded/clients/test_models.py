"""The models of the official Python client behave on the embedded API server as on a real one."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.embedded.clients import model_lifecycle


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[pathlib.Path]:
    with servers.embedded_kubeconfig() as path:
        model_lifecycle.create_namespace(path)
        yield path


@pytest.mark.parametrize("kind", model_lifecycle.kinds())
def test_a_model_behaves_as_on_a_real_api_server(kubeconfig: pathlib.Path, kind: str) -> None:
    assert model_lifecycle.ObjectLifecycle(kubeconfig, kind).run() == model_lifecycle.recorded(kind)
