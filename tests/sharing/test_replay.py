"""The replay of `python -m bench.sharing` uses the real decision: a few hours of it must show what the documentation says."""

from __future__ import annotations

import pytest
from bench.sharing.__main__ import COSTS, endless

SEED, DAYS, LOAD = 101, 0.3, 0.7
"""72 minutes that count."""
LEAVING = 0.2
"""Minutes that a job may wait for workers on idle capacity to leave."""


@pytest.mark.parametrize("framework", sorted(COSTS))
def test_endless_elastic_jobs_use_what_rigid_ones_leave_idle_and_nobody_waits_longer(framework: str) -> None:
    rigid, elastic = endless(SEED, DAYS, LOAD, None), endless(SEED, DAYS, LOAD, COSTS[framework])
    assert elastic.productive > rigid.productive
    assert elastic.wait <= rigid.wait + LEAVING
