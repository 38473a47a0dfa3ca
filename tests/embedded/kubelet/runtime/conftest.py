from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.embedded.kubelet.runtime.world import World

from traincrew.embedded.kubelet.runtime.spec import Isolation

# As root: with namespaces, and with none. As an ordinary user (see test_ordinary_user): in a user namespace, and with none.
LEVELS = (Isolation.ROOT, Isolation.NONE) if os.geteuid() == 0 else (Isolation.USER, Isolation.NONE)
NAMESPACES = LEVELS[:1]


@pytest.fixture(params=LEVELS)
async def world(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """At every level that this user can have."""
    world = await World(tmp_path / "data", Isolation(request.param)).open()
    yield world
    await world.close()


@pytest.fixture(params=NAMESPACES)
async def isolated(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Only where containers have namespaces."""
    world = await World(tmp_path / "data", Isolation(request.param)).open()
    yield world
    await world.close()
