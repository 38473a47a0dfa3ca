"""Formats and patterns of strings in schemas."""

from __future__ import annotations

import pytest

from traincrew.apimachinery.structural import string_formats


@pytest.mark.parametrize(
    ("format", "valid", "invalid"),
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
def test_formats_are_checked(format: str, valid: str, invalid: str) -> None:
    check = string_formats.validator(format)
    assert check is not None
    assert check(valid)
    assert not check(invalid)


@pytest.mark.parametrize("format", string_formats.NAMES)
def test_no_format_takes_exponential_time(format: str) -> None:
    """Patterns whose backtracking would take exponential time."""
    check = string_formats.validator(format)
    assert check is not None
    for part in ("x", "1", "a.", "a-", "1h", "x ", ":", "%41", '"', "é"):
        assert check(part * 5000 + "\n") in (True, False)


def test_unknown_formats_are_ignored() -> None:
    assert string_formats.validator("int32") is None
