"""Quantities mean what they mean to an API server."""

from __future__ import annotations

import decimal

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner.examples import tried

from traincrew.apimachinery import quantity_values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"), ("2", "2"), (2, "2"), (0.5, "0.5"), ("500m", "0.5"), ("1.5Gi", str(3 * 2**29)), ("4Ki", "4096"),
        ("1e3", "1000"), ("12E2", "1200"), ("1E", "1e18"), ("2k", "2000"), (".5", "0.5"), ("5.", "5"), ("+1", "1"), ("-1", "-1"),
        ("100n", "1e-7"), ("3u", "3e-6"), ("1e-3", "0.001"),
    ],
)  # fmt: skip
def test_a_quantity_is_read(text: str | int | float, value: str) -> None:
    assert quantity_values.parse(text) == decimal.Decimal(value)


@pytest.mark.parametrize("text", ["", "plenty", "1 Gi", " 1", "1e", "1ki", "1Gb", "NaN", "Infinity", "1_000", "٣", "1.2.3", "Ki"])
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity_values.parse(text)


@pytest.mark.parametrize("text", ["1e300", "9999999999999Ei", "99999999999999999999999"])
def test_larger_ones_are_cut_off_where_the_api_server_does(text: str) -> None:
    assert quantity_values.parse(text) == 2**63 - 1


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        pytest.param(["500m", "500m"], "1", id="milli to whole"),
        pytest.param(["100m", 1], "1100m", id="fraction"),
        pytest.param(["1Gi", "1Gi", "1Gi"], "3Gi", id="binary stays binary"),
        pytest.param(["512Mi", "512Mi"], "1Gi", id="larger unit where it divides"),
        pytest.param(["1Gi", "512Mi"], "1536Mi", id="smaller unit where it must"),
        pytest.param(["1Gi", 1], str(2**30 + 1), id="no unit where none divides"),
        pytest.param([1, 1], "2", id="devices"),
        pytest.param([], "0", id="none"),
    ],
)
def test_sums_are_written_as_a_person_would(amounts: list[str | int | float], total: str) -> None:
    assert quantity_values.total(amounts) == total


@tried(100)
@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"])), min_size=1, max_size=6)
)
def test_a_sum_is_worth_its_parts(parts: list[tuple[int, str]]) -> None:
    texts: list[str | int | float] = [f"{number}{suffix}" for number, suffix in parts]
    assert quantity_values.parse(quantity_values.total(texts)) == sum(quantity_values.parse(text) for text in texts)
