"""Plans are equal to the golden plans."""

from __future__ import annotations

import pathlib

import pytest
from tests.golden import cases

from traincrew.kinds import KINDS


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in cases.paths()])
def test_plan_is_the_golden_one(path: pathlib.Path) -> None:
    assert cases.golden(path).exists(), "run `make golden` and read what it wrote"
    assert cases.planned(path) == cases.golden(path).read_text()


def test_every_golden_plan_has_its_case() -> None:
    assert {cases.golden(path) for path in cases.paths()} == set(cases.HERE.glob("*.plan.yaml"))


@pytest.mark.parametrize("kind", [kind.singular for kind in KINDS])
def test_every_kind_has_golden_cases(kind: str) -> None:
    assert sum(path.name.startswith(f"{kind}-") for path in cases.paths()) >= 3
