from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.cli import house as houses
from tests.cli.house import Cluster, House


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with houses.cluster(tmp_path_factory.mktemp("cli") / "data") as found:
        yield found


@pytest.fixture
async def house(cluster: Cluster, tmp_path: pathlib.Path) -> AsyncIterator[House]:
    async with houses.house(cluster, tmp_path) as found:
        yield found
