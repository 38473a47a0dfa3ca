"""The embedded API server responds as the real one does."""

from __future__ import annotations

import pytest
from tests.differential.accepted_differences import ACCEPTED
from tests.differential.runner import ScenarioReport
from tests.differential.scenario_list import all_scenarios

MIN_REQUESTS = 300


@pytest.mark.parametrize("name", [each.name for each in all_scenarios()])
def test_both_servers_respond_alike(report: ScenarioReport, name: str) -> None:
    differences = [each for each in report.open if each.case == name]
    assert not differences, "\n".join(str(each) for each in differences)


def test_several_hundred_requests_are_compared(report: ScenarioReport) -> None:
    assert report.requests >= MIN_REQUESTS


@pytest.mark.parametrize("number", range(len(ACCEPTED)))
def test_every_accepted_difference_still_occurs(report: ScenarioReport, number: int) -> None:
    assert ACCEPTED[number] not in report.stale, f"matches no difference: {ACCEPTED[number]}"
