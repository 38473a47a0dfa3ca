from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness

from traincrew.embedded.kubelet.runtime.spec import Isolation

# As root: with namespaces, and with none. As an ordinary user (see test_ordinary_user): in a user namespace, and with none.
LEVELS = (Isolation.ROOT, Isolation.NONE) if os.geteuid() == 0 else (Isolation.USER, Isolation.NONE)
NAMESPACES = LEVELS[:1]


@pytest.fixture(params=LEVELS)
async def harness(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> AsyncIterator[ShimHarness]:
    """At every isolation level that is available to this user."""
    harness = await ShimHarness(tmp_path / "data", Isolation(request.param)).open()
    yield harness
    await harness.close()


@pytest.fixture(params=NAMESPACES)
async def isolated(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> AsyncIterator[ShimHarness]:
    """At levels with namespaces only."""
    harness = await ShimHarness(tmp_path / "data", Isolation(request.param)).open()
    yield harness
    await harness.close()
