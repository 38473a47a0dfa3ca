"""Every test of this directory runs its server under a memory limit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.embedded.resilience import memory_limits


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    with memory_limits.of_this_process():
        yield
