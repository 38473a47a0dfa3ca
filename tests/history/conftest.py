from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.history import postgres_server
from tests.history.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    programs = postgres_server.binaries()
    if programs is None:
        pytest.skip(postgres_server.INSTALL)
    with postgres_server.running(programs) as server:
        yield server
