"""The official Python client's models come back from the embedded API server as they do from a real one."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.embedded.clients import models


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[pathlib.Path]:
    with servers.embedded_kubeconfig() as found:
        models.place(found)
        yield found


@pytest.mark.parametrize("kind", models.kinds())
def test_a_model_lives_as_on_a_real_api_server(kubeconfig: pathlib.Path, kind: str) -> None:
    assert models.Life(kubeconfig, kind).live() == models.recorded(kind)
