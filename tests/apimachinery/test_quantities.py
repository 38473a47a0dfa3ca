"""Quantities are parsed and written as Go's resource.Quantity does."""

from __future__ import annotations

import decimal
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.embedded.resilience import memory_limits
from tests.planner.hypothesis_settings import max_examples

from traincrew.apimachinery import quantities

INT64 = 2**63 - 1


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """An attack that succeeds fails its test and does not harm the machine."""
    with memory_limits.of_this_process():
        yield


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"), ("2", "2"), (2, "2"), (0.5, "0.5"), ("500m", "0.5"), ("1.5Gi", str(3 * 2**29)), ("4Ki", "4096"),
        ("1e3", "1000"), ("12E2", "1200"), ("1E", "1e18"), ("2k", "2000"), (".5", "0.5"), ("5.", "5"), ("+1", "1"), ("-1", "-1"),
        ("100n", "1e-7"), ("3u", "3e-6"), ("1e-3", "0.001"), ("0.1n", "1e-9"), ("-0.1n", "-1e-9"), ("1e20", "1e20"), ("Ki", "0"),
    ],
)  # fmt: skip
def test_a_quantity_is_parsed_exactly(text: quantities.Text, number: str) -> None:
    assert quantities.nanos(text) == decimal.Decimal(number) * 10**9


@pytest.mark.parametrize(
    "text", ["", "plenty", "abc", "1 Gi", " 1", "1Gb", "NaN", "Infinity", "1_000", "٣", "1.2.3", "0" * 100_000 + "x"]
)
def test_a_malformed_quantity_is_rejected(text: str) -> None:
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.parse(text)
    assert str(caught.value) == quantities.FORMAT_WRONG
    assert not quantities.is_quantity(text)


@pytest.mark.parametrize("text", ["1e", "1ki", "1mi", "1K", "1-5", "1+", "1e99999999999999999999"])
def test_a_quantity_with_an_unknown_suffix_is_invalid(text: str) -> None:
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.parse(text)
    assert str(caught.value) == quantities.SUFFIX_WRONG


def test_a_fine_quantity_without_digits_has_no_number() -> None:
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.parse("e-10")
    assert str(caught.value) == quantities.NUMERIC_WRONG


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1", "1"), (2, "2"), ("0", "0"), ("-0", "0"), ("0Gi", "0"), ("0.5", "500m"), ("1.500", "1.500"), ("1000m", "1"),
        ("0100m", "0100m"), ("1.5Gi", "1536Mi"), ("1024Mi", "1Gi"), ("1000Ki", "1000Ki"), ("1025Ki", "1025Ki"), ("1e3", "1e3"),
        ("1000e3", "1e6"), ("0.1n", "1n"), ("1E", "1E"), ("12E", "12E"), ("-1.5", "-1500m"), ("-1500m", "-1500m"),
        (".5", "500m"), ("1.", "1."), ("0.1Ki", "102400m"), ("0.1Mi", "104857600m"), ("100Ei", "9223372036854775807"),
        (" 1 ", "1"), ("512", "512"), ("1000", "1k"), ("1500k", "1500k"), ("1000000", "1M"), ("+2", "+2"), ("1e20", "100e18"),
        ("1e1000", "10e999"), ("1000E", "1"), ("9999999999999999999", "9999999999999999999"),
    ],
)  # fmt: skip
def test_a_quantity_is_written_in_its_canonical_form(given: quantities.Text, written: str) -> None:
    assert quantities.canonical(given) == written


@pytest.mark.parametrize("text", ["1e20", "1e300", "1e1000", "9999999999999Ei", "99999999999999999999999"])
def test_values_saturate_at_int64(text: str) -> None:
    assert quantities.value(text) == quantities.milli_value(text) == INT64
    assert quantities.value(f"-{text}") == -INT64


@pytest.mark.parametrize(
    ("text", "value", "milli"), [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("2", 2, 2000), ("1Ki", 1024, 1024000)]
)
def test_values_are_rounded_away_from_zero(text: str, value: int, milli: int) -> None:
    assert quantities.value(text) == value
    assert quantities.milli_value(text) == milli


@pytest.mark.parametrize(
    ("text", "written"),
    [("0.0001", "1m"), ("1500u", "2m"), ("1.5", "1500m"), ("1.500", "1.500"), ("0.1Ki", "102400m")],
)
def test_resource_lists_are_rounded_up_to_thousandths(text: str, written: str) -> None:
    assert quantities.round_up_to_milli(text) == written


def test_quantities_are_compared_by_value() -> None:
    assert quantities.nanos("1Gi") == quantities.nanos("1073741824") == quantities.nanos("1024Mi")


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        pytest.param(["500m", "500m"], "1", id="milli to whole"),
        pytest.param(["500m", "1.5"], "2", id="fractions"),
        pytest.param(["100m", 1], "1100m", id="fraction"),
        pytest.param(["1Gi", "1Gi", "1Gi"], "3Gi", id="binary stays binary"),
        pytest.param(["512Mi", "512Mi"], "1Gi", id="larger unit where it divides"),
        pytest.param(["1Gi", "512Mi"], "1536Mi", id="smaller unit where it must"),
        pytest.param(["1Gi", 1], str(2**30 + 1), id="no unit where none divides"),
        pytest.param(["0", "1Gi"], "1Gi", id="zero has no format"),
        pytest.param([1, 1], "2", id="devices"),
        pytest.param([], "0", id="none"),
    ],
)
def test_a_sum_is_canonical(amounts: list[quantities.Text], total: str) -> None:
    assert quantities.add(amounts) == total


@max_examples(100)
@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"])), min_size=1, max_size=6)
)
def test_a_sum_equals_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    texts: list[quantities.Text] = [f"{number}{suffix}" for number, suffix in parts]
    assert quantities.nanos(quantities.add(texts)) == sum(quantities.nanos(text) for text in texts)


@pytest.mark.parametrize(
    "text",
    ["1e1000000", "1e-1000000", "1e999999999", "9" * 5000, "9" * 500_000 + "Ki", "." + "9" * 500_000 + "Ei", "1" * 500_000 + "m"],
)
def test_no_huge_number_is_built_from_a_huge_quantity(text: str) -> None:
    assert 0 < quantities.nanos(text) <= 10**300
    assert quantities.add([text, text])
    assert quantities.canonical(text)
    assert 1 <= quantities.value(text) < 2**63
