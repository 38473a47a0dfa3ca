import datetime

import pytest

from traincrew.apimachinery.durations import Ages, human

NOW = datetime.datetime(2024, 6, 1, 12, tzinfo=datetime.UTC)
MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (-2, "<invalid>"), (-1.5, "0s"), (-0.5, "0s"), (0, "0s"), (119.9, "119s"), (120, "2m"), (125, "2m5s"), (599, "9m59s"),
        (600, "10m"), (179 * MINUTE + 59, "179m"), (3 * HOUR, "3h"), (3 * HOUR + MINUTE, "3h1m"), (8 * HOUR, "8h"),
        (47 * HOUR, "47h"), (48 * HOUR, "2d"), (49 * HOUR, "2d1h"), (8 * DAY, "8d"), (729 * DAY, "729d"), (730 * DAY, "2y"),
        (731 * DAY, "2y1d"), (8 * 365 * DAY + DAY, "8y"),
    ],
)  # fmt: skip
def test_durations_are_printed_with_few_digits(seconds: float, message: str) -> None:
    assert human(seconds) == message


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        (None, "<unknown>"), ("", "<unknown>"), ("0001-01-01T00:00:00Z", "<unknown>"), ("2024-06-01T11:59:57Z", "3s"),
        ("2024-06-01T11:59:57.123456789Z", "2s"), ("2024-06-01T13:59:57.5+02:00", "2s"), ("yesterday", "<invalid>"),
        ("2024-06-01", "<invalid>"), ("2024-06-01 11:59:57Z", "<invalid>"), ("2024-06-01T11:59:57", "<invalid>"),
        ("2024-06-01T12:00:05Z", "<invalid>"), ("2024-06-01T12:00:01Z", "0s"),
    ],
)  # fmt: skip
def test_timestamps_are_printed_as_ages(timestamp: str | None, message: str) -> None:
    ages = Ages(NOW)
    assert [ages.since(timestamp), ages.since(timestamp)] == [message, message]
