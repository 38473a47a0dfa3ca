"""Numbers in the output of training programs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew import errors
from traincrew.console.view import series
from traincrew.console.view.points import Points
from traincrew.console.view.series import Position


@pytest.mark.parametrize(
    ("line", "values", "step"),
    [
        ("loss=0.5 acc=.9", {"loss": 0.5, "acc": 0.9}, None),
        ("Loss: 0.88, Accuracy: 95.3%", {"Loss": 0.88, "Accuracy": 95.3}, None),
        ("{'loss': 4.83, 'grad_norm': 2.1e-3, 'epoch': 1.5}", {"loss": 4.83, "grad_norm": 0.0021, "epoch": 1.5}, 1.5),
        ("Epoch [3/10], Step [100/938], Loss: 0.1234", {"Loss": 0.1234}, 100),
        (" 13%|█▎   | 123/938 [00:02<00:13, 61.15it/s, loss=2.3]", {"loss": 2.3}, 123),
        ("40\timages/sec: 125.67 +/- 1.2 (jitter = 3.1)\t8.2", {"images/sec": 125.67, "jitter": 3.1}, None),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300039", {"Epoch": 1, "Loss": 2.300039}, 640),
        ("938/938 ━━━━━━━━ 2s 2ms/step - accuracy: 0.87 - loss: 0.43", {"accuracy": 0.87, "loss": 0.43}, 938),
        ("[1,0]<stdout>:step=5 loss=1.5", {"step": 5, "loss": 1.5}, 5),
        ("\x1b[32mloss\x1b[0m = \x1b[1m1e-3\x1b[0m", {"loss": 0.001}, None),
        ("  1%| 1/100 [00:01<01:00]\r  2%| 2/100 [00:02<01:00, loss=7]", {"loss": 7}, 2),
        ("loss 0.5", {"loss": 0.5}, None),
        ("lr:1e-4", {"lr": 0.0001}, None),
        ("2026-11-17 12:30:45 INFO worker-0:2222 http://x:80/ port=23 rank=7", {}, None),
        ("torch 2.1.0, version: 3.11.2, ratio: 3/4, at 10:30:00", {}, None),
        ("nothing here", {}, None),
    ],
)
def test_the_numbers_of_a_line(line: str, values: dict[str, float], step: float | None) -> None:
    found = series.parse(line)
    assert (found.values, found.step) == (values, step)


def test_numbers_that_are_not_finite_are_read_and_sent_as_null() -> None:
    assert math.isnan(series.parse("loss=nan").values["loss"])
    assert series.finite(math.nan) is None
    assert series.finite(1.5) == 1.5


def progress(*lines: str) -> tuple[float | None, str]:
    tracker = series.Tracker()
    for line in lines:
        tracker.add(series.parse(line))
    return tracker.fraction(), tracker.text()


@pytest.mark.parametrize(
    ("lines", "fraction", "text"),
    [
        (["step 412 of 824"], 0.5, "step 412 of 824"),
        (["Epoch 3/10", "50/100 [00:01<00:01]"], 0.25, "epoch 3 of 10, step 50 of 100"),
        (["Epoch [0/4]", "Epoch [1/4]"], 0.25, "epoch 1 of 4"),
        (["Epoch 2/4", "90/100 [0:01<0:01]", "Epoch 3/4"], 0.5, "epoch 3 of 4"),
        (["Train Epoch: 7 [640/60000 (1%)]"], None, "step 640 of 60000"),
        (["loss=3"], None, ""),
        (["step 5 of 0", "step 9 of 3"], None, ""),
    ],
)
def test_how_far_a_program_has_come(lines: list[str], fraction: float | None, text: str) -> None:
    assert progress(*lines) == (fraction, text)


def test_a_position_is_not_a_number_of_its_own() -> None:
    assert series.parse("step: 5/100").position == Position(5, 100)
    assert series.parse("step: 5/100").values == {}


@pytest.mark.parametrize(
    ("pattern", "line", "values", "step"),
    [
        (r"L(?P<loss>[0-9.]+)", "L1.5 L2.5", {"loss": 2.5}, None),
        (r"<(?P<name>\w+)\|(?P<value>[^>]+)>", "<a|1><b|2>", {"a": 1, "b": 2}, None),
        (r"speed (?P<speed>[0-9,]+) at (?P<step>\d+)", "speed 1,250 at 7", {"speed": 1250}, 7),
        (r"took ([0-9.]+)", "took 3.5 step=9", {r"took ([0-9.]+)": 3.5}, 9),
        (r"x(?P<loss>\w+)", "xabc", {}, None),
    ],
)
def test_patterns_of_the_user(pattern: str, line: str, values: dict[str, float], step: float | None) -> None:
    found = series.pattern(pattern)(line)
    assert (found.values, found.step) == (values, step)


@pytest.mark.parametrize("pattern", ["(", "loss", r"(?P<name>\w+)", "(?P<value>1)"])
def test_patterns_that_are_not_valid_are_reported(pattern: str) -> None:
    with pytest.raises(errors.SettingsError, match="pattern: "):
        series.pattern(pattern)


@given(st.text())
def test_no_line_breaks_the_parser(line: str) -> None:
    found = series.parse(line)
    assert len(found.values) <= series.MAX_NAMES


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200), st.integers(2, 20))
def test_points_keep_the_whole_time_and_their_order(gaps: list[int], limit: int) -> None:
    points: Points[int] = Points(limit)
    times = [sum(gaps[: number + 1]) for number in range(len(gaps))]
    for number, time in enumerate(times):
        points.add(time, number)
    assert len(points.times) <= limit
    assert points.times == sorted(points.times)
    assert points.times[0] == times[0]
    assert [times[number] for number in points.values] == points.times
    assert len(times) - points.values[-1] <= points.stride
