"""Last lines: so many of each log, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traincrew.history.last_lines import OVERHEAD, LastLines


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=60), st.integers(0, 8))
def test_the_last_lines_of_each_log_are_kept_in_order(written: list[tuple[str, int]], limit: int) -> None:
    last = LastLines[tuple[str, int]](limit)
    for number, (log, size) in enumerate(written):
        last.add(log, (log, number), size)
    numbered = [(log, number) for number, (log, _) in enumerate(written)]
    found = last.take()
    for log in "abc":
        own = [each for each in numbered if each[0] == log]
        assert [each for each in found if each[0] == log] == own[len(own) - min(limit, len(own)) :]
    assert last.dropped == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5000)), max_size=100))
def test_lines_never_take_more_than_their_space_and_the_dropped_ones_are_counted(written: list[tuple[str, int]]) -> None:
    last = LastLines[int](None, size=20_000)
    for log, size in written:
        last.add(log, size, size)
    found = last.take()
    assert sum(size + OVERHEAD for size in found) <= 20_000
    assert len(found) + last.dropped == len(written)


def test_a_log_that_prints_much_does_not_remove_the_lines_of_another() -> None:
    last = LastLines[str](None, size=20_000)
    last.add("quiet", "the only line", 100)
    for number in range(1000):
        last.add("loud", f"line {number}", 100)
    found = last.take()
    assert found[0] == "the only line"
    assert found[-1] == "line 999"
