"""Resuming and merging logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from traincrew.client import pod_logs
from traincrew.inspection import container_runs, log_merge
from traincrew.model import meta, objects

SECOND = pod_logs.NANO


@pytest.mark.parametrize(
    ("raw", "nanoseconds", "text"),
    [
        (b"1970-01-01T00:00:01.500000000Z hello", 1_500_000_000, b"hello"),
        (b"1970-01-01T00:00:01.5Z a b", 1_500_000_000, b"a b"),
        (b"1970-01-01T01:00:01.000000007+01:00 zone", 1_000_000_007, b"zone"),
        (b"1970-01-01T00:00:02Z ", 2_000_000_000, b""),
        (b"1970-01-01T00:00:02Z  two", 2_000_000_000, b" two"),
        (b"no time at all", 0, b"no time at all"),
    ],
)
def test_a_line_is_identified_by_its_time(raw: bytes, nanoseconds: int, text: bytes) -> None:
    assert pod_logs.parse(raw) == pod_logs.PodLogLine(nanoseconds, text)


STEPS = some.lists(some.sampled_from([0, 0, 1, SECOND // 3, 2 * SECOND]), max_size=30)


@given(STEPS, some.lists(some.integers(0, 30), max_size=5))
def test_a_log_resumed_anywhere_has_each_line_once(steps: list[int], cuts: list[int]) -> None:
    times = [5 * SECOND + sum(steps[: number + 1]) for number in range(len(steps))]
    lines = [pod_logs.PodLogLine(time, b"%d" % number) for number, time in enumerate(times)]
    position, seen = pod_logs.LogPosition(), list[pod_logs.PodLogLine]()
    for cut in [*cuts, len(lines)]:
        resumed = pod_logs.Resumed(position)
        since = position.last // SECOND * SECOND  # what the API can be asked for
        message = [line for line in lines if line.nanoseconds >= since][:cut]
        for line in [line for line in message if resumed.is_new(line)]:
            position.took(line)
            seen.append(line)
    assert seen == lines


@given(some.lists(some.lists(some.integers(0, 20), max_size=20), min_size=1, max_size=4), some.integers(1, 5))
async def test_merged_logs_are_sorted_by_time_and_keep_their_own_order(times: list[list[int]], size: int) -> None:
    async def source(index: int) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
        lines = [pod_logs.PodLogLine(time + 1, b"%d" % index) for time in sorted(times[index])]
        yield []
        for start in range(0, len(lines), size):
            yield lines[start : start + size]

    found = [(i, line) async for i, lines in log_merge.merge([source(i) for i in range(len(times))]) for line in lines]
    assert [line.nanoseconds for _, line in found] == sorted(time + 1 for each in times for time in each)
    assert all(line.text == b"%d" % index for index, line in found)


async def test_a_line_without_a_time_stays_behind_its_predecessor() -> None:
    async def source(*lines: pod_logs.PodLogLine) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
        yield list(lines)

    one = source(pod_logs.PodLogLine(5, b"a"), pod_logs.PodLogLine(0, b"b"), pod_logs.PodLogLine(9, b"c"))
    other = source(pod_logs.PodLogLine(7, b"x"))
    assert [line.text async for _, lines in log_merge.merge([one, other]) for line in lines] == [b"a", b"b", b"x", b"c"]


ENDED = objects.ContainerState(terminated=objects.Terminated())
RUNNING = objects.ContainerState(running=objects.Running())
WAITING = objects.ContainerState(waiting=objects.Waiting(reason="CrashLoopBackOff"))


@pytest.mark.parametrize(
    ("state", "last", "found"),
    [
        pytest.param(RUNNING, objects.ContainerState(), container_runs.ContainerAttempt(2, False), id="it runs"),
        pytest.param(ENDED, objects.ContainerState(), container_runs.ContainerAttempt(2, True), id="it has ended"),
        pytest.param(WAITING, ENDED, container_runs.ContainerAttempt(2, True), id="it waits to be started again"),
        pytest.param(WAITING, objects.ContainerState(), container_runs.NONE, id="it has not started yet"),
    ],
)
def test_a_container_run_is_numbered_by_restarts(
    state: objects.ContainerState, last: objects.ContainerState, found: container_runs.ContainerAttempt
) -> None:
    status = objects.ContainerStatus(name="c", restart_count=2, state=state, last_state=last)
    pod = objects.Pod(metadata=meta.Meta(name="p"), status=objects.PodStatus(container_statuses=[status]))
    assert container_runs.run(pod, "c") == found
    assert container_runs.run(pod, "other") == container_runs.NONE


@given(some.binary(max_size=60), some.lists(some.integers(1, 7), max_size=30))
def test_lines_do_not_depend_on_the_chunks_in_which_they_arrive(text: bytes, sizes: list[int]) -> None:
    splitter, found, rest = pod_logs.LineSplitter(), list[bytes](), text
    for size in (*sizes, len(text)):
        found += splitter.feed(rest[:size])
        rest = rest[size:]
    assert b"\n".join([*found, bytes(splitter.partial)]) == text


def test_a_line_beyond_the_limit_is_cut_and_the_next_one_is_whole() -> None:
    splitter = pod_logs.LineSplitter(max_line=4)
    found = [line for chunk in (b"abc", b"def", b"g\nhi\njklmno") for line in splitter.feed(chunk)]
    assert (found, bytes(splitter.partial)) == ([b"abcd", b"hi"], b"jklm")
