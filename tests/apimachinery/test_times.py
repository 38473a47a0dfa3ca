"""Times and durations are parsed and written as Go does."""

from __future__ import annotations

import datetime as dt

import pytest

from traincrew.apimachinery import durations, times

UTC = dt.UTC


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2020-02-29T10:11:12Z", dt.datetime(2020, 2, 29, 10, 11, 12, tzinfo=UTC)),
        ("2020-01-01T01:00:00.9+01:00", dt.datetime(2020, 1, 1, 0, 0, 0, 900_000, UTC)),
        ("2020-01-01T1:00:00,123456789Z", dt.datetime(2020, 1, 1, 1, 0, 0, 123_456, UTC)),
        ("2020-01-01T00:00:00-24:60", dt.datetime(2020, 1, 2, 1, 0, tzinfo=UTC)),
        ("0000-02-29T00:00:00Z", times.ZERO),
        ("0001-01-01T00:00:00+01:00", times.ZERO),
    ],
)
def test_a_time_is_parsed_as_rfc_3339(text: str, moment: dt.datetime) -> None:
    assert times.parse(text) == moment


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("x", ' as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2020-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2021-02-29T00:00:00Z", ": day out of range"),
        ("2020-01-01T25:00:00Z", ": hour out of range"),
        ("2020-01-01T00:60:00Z", ": minute out of range"),
        ("2020-01-01T00:00:60Z", ": second out of range"),
        ("2020-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2020-01-01T00:00:00+00:61", ": time zone offset minute out of range"),
        ("2020-01-01T00:00:00Zx", ': extra text: "x"'),
    ],
)
def test_invalid_times_are_rejected_with_the_message_of_go(text: str, rest: str) -> None:
    with pytest.raises(times.TimeError) as caught:
        times.parse(text)
    assert str(caught.value) == f'parsing time "{text}"{rest}'


def test_errors_quote_as_gos_time_package_does() -> None:
    with pytest.raises(times.TimeError) as caught:
        times.parse('a"\né')
    assert str(caught.value).startswith(r'parsing time "a\"\x0a\xc3\xa9" as ')


def test_times_are_written_in_utc() -> None:
    moment = dt.datetime(33, 1, 2, 3, 4, 5, 678, dt.timezone(dt.timedelta(hours=1)))
    assert times.rfc3339(moment) == "0033-01-02T02:04:05Z"
    assert times.rfc3339_micro(moment) == "0033-01-02T02:04:05.000678Z"


def test_an_absent_time_is_none() -> None:
    assert times.parse_optional(None) is None
    assert times.parse_optional("") is None
    assert times.parse_optional(times.EPOCH) == dt.datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15.0), ("1m0.5s", 60.5), ("-3ms", -0.003), ("0", 0.0), ("1.5h", 5400.0), ("+20.05s", 20.05)]
)
def test_a_duration_is_parsed(text: str, seconds: float) -> None:
    assert durations.parse(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "1", "s", "1x", "1s x"])
def test_invalid_durations_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        durations.parse(text)


@pytest.mark.parametrize(("seconds", "text"), [(10, "10s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s"), (0, "0s")])
def test_a_duration_is_written(seconds: int, text: str) -> None:
    assert durations.render(seconds) == text


def test_a_time_is_written_back_in_utc_and_whole_seconds() -> None:
    assert times.canonical("2020-01-01T01:00:00.9+01:00") == "2020-01-01T00:00:00Z"
    assert times.canonical("0001-01-01T00:00:00Z") is None
    assert times.canonical_micro("2020-01-01T00:00:00.123456Z") == "2020-01-01T00:00:00.123456Z"
