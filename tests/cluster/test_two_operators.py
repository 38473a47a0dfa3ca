"""Two operators without leader election: the final state is the same as with one."""

from __future__ import annotations

import concurrent.futures

import pytest
from tests.cluster import lifecycle
from tests.cluster.lifecycle import KindVersion
from tests.cluster.lifecycle_harness import LifecycleHarness

RECORDINGS = 4
"""Of each kind: who is first at what is a matter of luck."""


@pytest.mark.parametrize("kind", lifecycle.ALL_KINDS, ids=str)
def test_two_that_act_come_to_the_same_end_as_one(harness: LifecycleHarness, kind: KindVersion) -> None:
    normal = harness.record(kind).final_state

    with concurrent.futures.ThreadPoolExecutor(RECORDINGS) as pool:
        found = [pool.submit(harness.record_together, kind, normal.events) for _ in range(RECORDINGS)]

    for each in found:
        lifecycle.assert_same(each.result().final_state, normal, str(kind))
