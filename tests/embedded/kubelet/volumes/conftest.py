from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.embedded.kubelet.volumes import pods


@pytest.fixture
async def node(tmp_path: pathlib.Path) -> AsyncIterator[pods.Node]:
    async with pods.node(tmp_path) as opened:
        yield opened
