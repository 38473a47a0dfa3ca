"""The embedded API server answers as the real one does."""

from __future__ import annotations

import pytest
from tests.differential.accepted import ACCEPTED
from tests.differential.catalogue import everything
from tests.differential.run import Report

SEVERAL_HUNDRED = 300


@pytest.mark.parametrize("name", [each.name for each in everything()])
def test_both_servers_answer_alike(report: Report, name: str) -> None:
    found = [each for each in report.open if each.case == name]
    assert not found, "\n".join(str(each) for each in found)


def test_several_hundred_requests_are_compared(report: Report) -> None:
    assert report.requests >= SEVERAL_HUNDRED


@pytest.mark.parametrize("number", range(len(ACCEPTED)))
def test_every_accepted_difference_is_still_there(report: Report, number: int) -> None:
    assert ACCEPTED[number] not in report.stale, f"matches nothing any more: {ACCEPTED[number]}"
