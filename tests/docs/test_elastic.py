"""docs/elastic.md shows the job of the example as it is."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_the_job_of_horovod_elastic_is_that_of_the_example() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "elastic.md").read_text(), re.DOTALL | re.MULTILINE)
    assert (ROOT / "examples" / "mpi" / "horovod-elastic" / "job.yaml").read_text() in shown


def _scenarios() -> dict[str, list[tuple[str, str]]]:
    """The tests of each scenario: file and name."""
    rows = re.findall(r"^\| (A\d+) \|.*\| (.*) \|$", (ROOT / "docs" / "elastic.md").read_text(), re.MULTILINE)
    return {scenario: re.findall(r"`(\S+)::(\w+)`", tests) for scenario, tests in rows}


def test_every_scenario_has_a_test() -> None:
    assert list(_scenarios()) == [f"A{number}" for number in range(1, 21)]
    assert all(_scenarios().values())


@pytest.mark.parametrize(("file", "name"), sorted({test for tests in _scenarios().values() for test in tests}))
def test_the_tests_of_the_scenarios_exist(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
