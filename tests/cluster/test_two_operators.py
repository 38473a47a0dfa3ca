"""Two operators at once and no leader election: both act, and it comes to the same as with one."""

from __future__ import annotations

import concurrent.futures

import pytest
from tests.cluster import lives
from tests.cluster.lives import Kind
from tests.cluster.theatre import Theatre

LIVES = 4
"""Of each kind: who is first at what is a matter of luck."""


@pytest.mark.parametrize("kind", lives.EVERY, ids=str)
def test_two_that_act_come_to_the_same_end_as_one(house: Theatre, kind: Kind) -> None:
    normal = house.perform(kind).portrait

    with concurrent.futures.ThreadPoolExecutor(LIVES) as pool:
        found = [pool.submit(house.perform_together, kind, normal.told) for _ in range(LIVES)]

    for each in found:
        lives.assert_same(each.result().portrait, normal, str(kind))
