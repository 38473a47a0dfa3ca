"""The writer of a copied log: chunks, limits, and lines that were read as another run."""

from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterator

import pytest

from traincrew.client import pod_logs
from traincrew.client.pod_logs import PodLogLine
from traincrew.history import log_writer
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.log_writer import LogWriter
from traincrew.history.records import LogChunk

SECOND = pod_logs.NANO


@pytest.fixture
async def thread(tmp_path: pathlib.Path) -> AsyncIterator[DatabaseThread]:
    found = DatabaseThread(os.fspath(tmp_path / "history.db"), writable=True)
    yield found
    await found.close()


def lines(first: int, last: int) -> list[PodLogLine]:
    """One a second."""
    return [PodLogLine(second * SECOND, f"line {second}".encode()) for second in range(first, last + 1)]


async def _next(thread: DatabaseThread, after: tuple[int, int]) -> LogChunk | None:
    return await thread.call(lambda store: store.log("pod", "c", after))


async def stored(thread: DatabaseThread) -> dict[int, list[str]]:
    """Lines by run."""
    found, after = dict[int, list[str]](), (-1, -1)
    while (chunk := await _next(thread, after)) is not None:
        after = (chunk.run, chunk.number)
        read = [pod_logs.parse(raw).text.decode() for raw in chunk.lines.removesuffix(b"\n").split(b"\n")]
        found.setdefault(chunk.run, []).extend(read)
    return found


async def test_a_writer_continues_behind_the_last_line(thread: DatabaseThread) -> None:
    for part in (lines(1, 3), lines(4, 5)):
        writer = LogWriter(thread, "pod", "c", 1 << 20)
        await writer.restore()
        await writer.begin(0)
        await writer.add(part, ())
        await writer.flush()
    assert writer.position.last == 5 * SECOND
    assert await stored(thread) == {0: [f"line {number}" for number in range(1, 6)]}


@pytest.mark.parametrize("read_before", [0, 2])
async def test_lines_of_the_next_run_that_were_read_too_early_are_moved_there(thread: DatabaseThread, read_before: int) -> None:
    """The container has restarted before its status said so."""
    writer = LogWriter(thread, "pod", "c", 1 << 20)
    await writer.begin(0)
    await writer.add([*lines(1, read_before), *lines(10, 12)], ())
    await writer.begin(1, lines(1, 3))
    resumed = pod_logs.Resumed(writer.position)
    await writer.add([line for line in lines(10, 14) if resumed.is_new(line)], ())
    await writer.flush()
    assert await stored(thread) == {0: ["line 1", "line 2", "line 3"], 1: [f"line {number}" for number in range(10, 15)]}


async def test_the_end_of_a_run_that_was_missed_is_added(thread: DatabaseThread) -> None:
    writer = LogWriter(thread, "pod", "c", 1 << 20)
    await writer.begin(0)
    await writer.add(lines(1, 2), ())
    await writer.begin(1, lines(1, 4))
    await writer.flush()
    assert await stored(thread) == {0: ["line 1", "line 2", "line 3", "line 4"]}


async def test_a_log_that_is_too_large_loses_its_oldest_lines(thread: DatabaseThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "CHUNK_BYTES", 4096)
    writer = LogWriter(thread, "pod", "c", 20_000)
    await writer.begin(0)
    for second in range(1, 201):
        await writer.add([PodLogLine(second * SECOND, f"{second} {os.urandom(300).hex()}".encode())], ())
    await writer.flush()
    kept = [int(line.partition(" ")[0]) for line in (await stored(thread))[0]]
    assert kept == list(range(kept[0], 201))
    assert 20 < len(kept) < 100


async def test_secret_values_are_removed_and_carriage_returns_are_kept(thread: DatabaseThread) -> None:
    writer = LogWriter(thread, "pod", "c", 1 << 20)
    await writer.begin(0)
    await writer.add([PodLogLine(SECOND, b"10%\r20% hf-0123456789 done")], (b"hf-0123456789",))
    await writer.flush()
    assert await stored(thread) == {0: ["10%\r20% <redacted> done"]}
