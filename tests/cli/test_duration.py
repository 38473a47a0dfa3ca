"""The durations of flags."""

from __future__ import annotations

import click
import pytest

from traincrew.cli import duration, main


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("1h30m", 5400.0), ("2d", 172800.0), ("0.5s", 0.5), ("0", 0.0), ("2.5", 2.5), ("10", 10.0)],
)
def test_a_duration_has_units_or_is_a_number_of_seconds(text: str, seconds: float) -> None:
    assert duration.Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "5x", "-5m", "5m!", "5 m", "1m5", "1e3", "inf", "nan"])
def test_what_is_no_duration_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a duration such as 90s, 5m, 1h30m or 2d"):
        duration.Duration().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "message"), [("59s", "59s is less than the minimum of 1m"), ("2d", "2d is more than the maximum of 1d")]
)
def test_a_duration_has_limits(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        duration.Duration(60, 86400).convert(text, None, None)


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.0, 10.0, 90.0, 300.0, 5400.0, 43200.0, 86400.0])
def test_the_text_of_a_default_is_read_as_the_same_duration(seconds: float) -> None:
    assert duration.parse(duration.text(seconds)) == seconds


def test_flags_that_take_a_duration_say_so() -> None:
    verbs = main.traincrew
    assert isinstance(verbs, click.Group)
    context = click.Context(verbs)
    commands = [verbs.get_command(context, name) for name in verbs.list_commands(context)]
    parameters = [each for command in commands if command is not None for each in command.params]
    timed = [each for each in parameters if isinstance(each.type, duration.Duration)]
    assert len(timed) >= 8
    assert {getattr(each, "metavar", "") for each in timed} == {"DURATION"}
    assert not [each.name for each in parameters if getattr(each, "metavar", "") in ("SECONDS", "AGE")]
