from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.embedded.apiserver.http.running_cluster import RunningApi, running_api


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[RunningApi]:
    async with running_api(tmp_path / "data") as running:
        yield running
