"""Logs of a recording in a console without a cluster: searched completely, around a moment, and never too much at once."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
from typing import Any

from tests.console.console_fixture import Browser
from tests.console.test_recordings import without_cluster
from tests.history.recordings import encoded, lines, log

START = dt.datetime(2026, 11, 18, 7, 30, tzinfo=dt.UTC)
COUNT = 6000
EARLY = 10
CHUNK = 1000
LONG = 60 * 1024


def time(number: int) -> str:
    return f"{START + dt.timedelta(seconds=number):%Y-%m-%dT%H:%M:%S}.000000000Z"


def recording() -> bytes:
    """A line each second, of which an early one is an error."""
    texts = ["ValueError: the early one" if number == EARLY else f"line {number}" for number in range(COUNT)]
    printed = [f"{time(number)} {text}\n" for number, text in enumerate(texts)]
    chunks = [log(number, "".join(printed[number * CHUNK : (number + 1) * CHUNK])) for number in range(COUNT // CHUNK)]
    return encoded(lines(*chunks))


def long_lines(count: int) -> bytes:
    return encoded(lines(*(log(number, f"{time(number)} {str(number).zfill(LONG)}\n") for number in range(count))))


async def read(browser: Browser, path: str, query: str) -> tuple[list[dict[str, Any]], str, list[int]]:
    """The lines of the topic, the reason of its end, and the characters of each message."""
    found, sizes, kinds = list[dict[str, Any]](), list[int](), list[str]()
    async with browser.stream() as stream:
        await stream.subscribe(f"logs:{path.removeprefix('jobs/')}?{query}")
        while (message := await stream.next("logs.snapshot", "logs.patch", "end", "error"))["type"] not in ("end", "error"):
            found += message["data"]["lines"]
            kinds.append(message["type"])
            sizes.append(len(json.dumps(message)))
            assert message["data"]["skipped"] == 0
    assert kinds == ["logs.snapshot"] + ["logs.patch"] * (len(kinds) - 1)
    return found, message["reason"], sizes


async def test_a_search_finds_lines_before_the_last_ones(tmp_path: pathlib.Path) -> None:
    async with without_cluster(recording(), tmp_path / "page") as (browser, path):
        for query in ("q=early", "level=error", "q=Early&level=warning"):
            found, reason, _ = await read(browser, path, f"{query}&tail=100")
            assert [line["text"] for line in found] == ["ValueError: the early one"]
            assert reason == "Finished"
        assert (await browser.get(f"{path}/logs?q=early&tail=100"))["matches"] == 1
        many, _, _ = await read(browser, path, "q=line&tail=100")
        assert [line["text"] for line in many] == [f"line {number}" for number in range(COUNT - 100, COUNT)]
        last, _, _ = await read(browser, path, "tail=3")
        assert [line["text"] for line in last] == [f"line {number}" for number in range(COUNT - 3, COUNT)]


async def test_a_moment_shows_the_lines_around_it_with_the_positions_that_they_always_have(tmp_path: pathlib.Path) -> None:
    async with without_cluster(recording(), tmp_path / "page") as (browser, path):
        everything, _, _ = await read(browser, path, "tail=1000000")
        assert len(everything) == COUNT
        around, reason, _ = await read(browser, path, f"at={time(2000)}&tail=50")
        assert around == everything[1950:2050]
        assert reason == "Limited"
        near_the_end, reason, _ = await read(browser, path, f"at={time(COUNT - 10)}&tail=50")
        assert near_the_end == everything[COUNT - 60 :]
        assert reason == "Finished"
        after_the_end, _, _ = await read(browser, path, f"at={time(COUNT + 60)}&tail=50")
        assert after_the_end == everything[COUNT - 50 :]
        matching, _, _ = await read(browser, path, f"q=early&at={time(3000)}&tail=50")
        assert [line["text"] for line in matching] == ["ValueError: the early one"]
        status, error = await browser.call("GET", f"{path}/logs?at=then")
        assert (status, error["reason"]) == (422, "Invalid")


async def test_a_log_of_long_lines_is_sent_in_small_messages(tmp_path: pathlib.Path) -> None:
    async with without_cluster(long_lines(200), tmp_path / "page") as (browser, path):
        for query in ("tail=1000000", "tail=5000"):
            found, _, sizes = await read(browser, path, query)
            assert [int(line["text"][-9:]) for line in found] == list(range(200))
            assert max(sizes) < 1_200_000


async def test_one_answer_never_has_more_lines_than_memory_allows(tmp_path: pathlib.Path) -> None:
    async with without_cluster(long_lines(700), tmp_path / "page") as (browser, path):
        page = await browser.get(f"{path}/logs?limit=100000")
        assert (page["matches"], page["truncated"]) == (700, True)
        assert [int(line["text"][-9:]) for line in page["lines"]] == list(range(700 - len(page["lines"]), 700))
        assert 0 < len(page["lines"]) * LONG < 34 * 1024 * 1024
        everything, _, _ = await read(browser, path, "tail=1000000")
        assert len(everything) == 700
