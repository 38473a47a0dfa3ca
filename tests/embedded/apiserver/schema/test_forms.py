"""Times and base64, as Go reads and writes them."""

from __future__ import annotations

import pytest

from traincrew.apimachinery import go_wording, times
from traincrew.embedded.apiserver.schema import regular_expressions, string_formats


def test_a_time_is_written_in_utc_and_whole_seconds() -> None:
    assert times.canonical("2020-01-01T01:00:00.9+01:00") == "2020-01-01T00:00:00Z"
    assert times.canonical("0001-01-01T00:00:00Z") is None
    assert times.canonical_micro("2020-01-01T00:00:00.123456Z") == "2020-01-01T00:00:00.123456Z"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2021-02-29T00:00:00Z", 'parsing time "2021-02-29T00:00:00Z": day out of range'),
        ("2020-01-01T00:00:00Zx", 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
        ("2020-01-01", 'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
    ],
)
def test_what_is_no_time_is_told(given: str, told: str) -> None:
    with pytest.raises(times.TimeError) as caught:
        times.canonical(given)
    assert str(caught.value) == told


@pytest.mark.parametrize(("given", "byte"), [("!!", 0), ("YQ", 0), ("YQ===", 4), ("Y Q=", 1), ("YWI=x", 4), ("YQ=", 3)])
def test_what_is_no_base64_is_told_with_the_place(given: str, byte: int) -> None:
    with pytest.raises(go_wording.NotBase64) as caught:
        go_wording.base64(given)
    assert str(caught.value) == f"illegal base64 data at input byte {byte}"


def test_base64_may_be_broken_into_lines() -> None:
    assert go_wording.base64("YW\nI=\n") == "YWI="


def test_numbers_are_printed_as_go_prints_them() -> None:
    given = [1.0, 0.5, 1e5, 1e6, 123456789.0, 1e20, 1e-5, -3.25, 0.0]
    assert [go_wording.number(each) for each in given] == [
        "1", "0.5", "100000", "1e+06", "1.23456789e+08", "1e+20", "1e-05", "-3.25", "0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "right", "wrong"),
    [
        ("ipv4", "10.0.0.1", "10.0.0.01"),
        ("ipv6", "::1", "::g"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("mac", "01:02:03:04:05:06", "01"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("email", "a@b.c", "a@"),
        ("uri", "http://x/y", "x"),
        ("hostname", "a-b.c2.com", "-a"),
        ("duration", "1h5m", "1x"),
        ("date", "2020-02-29", "2021-02-29"),
        ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"),
        ("byte", "YQ==", "!"),
        ("hexcolor", "#fff", "#ff"),
        ("rgbcolor", "rgb(1,2,3)", "rgb(1,2)"),
        ("isbn", "978-0321751041", "1"),
        ("ssn", "111-22-3333", "1"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
    ],
)
def test_formats_are_checked(format: str, right: str, wrong: str) -> None:
    check = string_formats.known(format)
    assert check is not None
    assert check(right)
    assert not check(wrong)


@pytest.mark.parametrize("format", string_formats.NAMES)
def test_no_format_takes_for_ever_over_a_text(format: str) -> None:
    """Each would, if a text could be cut into its parts in exponentially many ways."""
    check = string_formats.known(format)
    assert check is not None
    for part in ("x", "1", "a.", "a-", "1h", "x ", ":", "%41", '"', "é"):
        assert check(part * 5000 + "\n") in (True, False)


def test_no_pattern_takes_for_ever_over_a_text() -> None:
    for pattern in ("^(a+)+$", "^(a|a)*$", "^([a-z]*)*[0-9]$"):
        assert not regular_expressions.compiled(pattern).search("a" * 5000 + "!")
    assert regular_expressions.compiled("^(a+)+$").search("aaa")


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        ("^a$", "a", "a\n"), ("^(a|b)+$", "ab", "ab\n"), (r"^[[:alpha:]]+$", "ab", "a1"), (r"^\d$", "1", "٣"), ("[", None, "["),
        (r"^(?P<x>a)\z", "a", "b"), (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a.b-c", "a..b"),
    ],
)  # fmt: skip
def test_patterns_are_gos(pattern: str, right: str | None, wrong: str) -> None:
    compiled = regular_expressions.compiled(pattern)
    assert right is None or compiled.search(right)
    assert not compiled.search(wrong)


def test_unknown_formats_are_ignored() -> None:
    assert string_formats.known("int32") is None
