"""Reading the log of a container: all of it, its tail, since a time, and while it is written and rotated."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import pathlib
from collections.abc import AsyncIterator

import pytest

from traincrew.embedded.kubelet.logs import cri_format, log_directory, reader
from traincrew.embedded.kubelet.runtime.streaming import LogOptions

START = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


class LogFile:
    """A log as the shim writes it: a line each microsecond, rotated by renaming."""

    def __init__(self, directory: pathlib.Path, newest_first: bool = True) -> None:
        self.directory, self.newest_first = directory, newest_first
        self.count = self.rotations = 0
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "0.log"

    def raw(self, text: bytes, tag: bytes = b"F", stream: bytes = b"stdout") -> bytes:
        self.count += 1
        return cri_format.timestamp(START + dt.timedelta(microseconds=self.count)) + b" %b %b %b\n" % (stream, tag, text)

    def write(self, text: bytes, tag: bytes = b"F", stream: bytes = b"stdout") -> None:
        with self.path.open("ab") as file:
            file.write(self.raw(text, tag, stream))

    def rotate(self, keep: int = 100) -> None:
        self.rotations += 1
        if not self.newest_first:
            self.path.rename(self.directory / f"0.log.{self.rotations}")
        else:
            for number in range(self.rotations, 0, -1):
                old = self.directory / (f"0.log.{number - 1}" if number > 1 else "0.log")
                if old.exists():
                    old.rename(self.directory / f"0.log.{number}")
            (self.directory / f"0.log.{keep + 1}").unlink(missing_ok=True)
        self.path.touch()


@pytest.fixture(params=[True, False], ids=["higher numbers are older", "higher numbers are newer"])
def log(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> LogFile:
    return LogFile(tmp_path / "main", request.param)


async def read_log(log: LogFile, **options: object) -> bytes:
    return b"".join([piece async for piece in reader.read(log.directory, 0, LogOptions(**options), START)])  # type: ignore[arg-type]


async def test_rotated_files_are_read_in_chronological_order(log: LogFile) -> None:
    for number in range(12):
        log.write(b"%d" % number)
        if number % 3 == 2:
            log.rotate()
    assert await read_log(log) == b"".join(b"%d\n" % number for number in range(12))


@pytest.mark.parametrize("count", range(9))
async def test_a_tail_spans_rotated_files(log: LogFile, count: int) -> None:
    for number in range(8):
        log.write(b"%d" % number)
        if number in (2, 3, 6):
            log.rotate()
    assert await read_log(log, tail_lines=count) == b"".join(b"%d\n" % number for number in range(8 - count, 8))


@pytest.mark.parametrize("length", [10, 65_500, 65_536, 200_000])
async def test_a_tail_is_correct_at_block_boundaries(log: LogFile, length: int) -> None:
    for number in range(40):
        log.write(b"%d" % number + b"x" * (length if number % 7 == 3 else number * 1000))
    everything = (await read_log(log)).splitlines(keepends=True)
    for count in (1, 2, 5, 36, 39, 40, 41):
        assert await read_log(log, tail_lines=count) == b"".join(everything[-count:])


async def test_parts_of_a_line_are_joined_and_counted_as_one(log: LogFile) -> None:
    log.write(b"first")
    log.write(b"sec", b"P")
    log.write(b"ond", b"P")
    log.write(b"", b"F")
    assert await read_log(log) == b"first\nsecond\n"
    assert await read_log(log, tail_lines=1) == b"second\n"
    stamped = (await read_log(log, timestamps=True)).splitlines()
    assert [line.partition(b"Z ")[2] for line in stamped] == [b"first", b"second"]


async def test_binary_data_and_carriage_returns_are_kept(log: LogFile) -> None:
    log.write(b"50%\r100%\xff\x00")
    log.write(b"")
    assert await read_log(log) == b"50%\r100%\xff\x00\n\n"


async def test_only_lines_since_a_time_are_returned(log: LogFile) -> None:
    for number in range(4):
        log.write(b"%d" % number)
    since = START + dt.timedelta(microseconds=3)
    assert await read_log(log, since_time=since) == b"2\n3\n"
    assert await read_log(log, since_time=since, tail_lines=1) == b"3\n"


async def test_one_stream_can_be_selected(log: LogFile) -> None:
    log.write(b"out")
    log.write(b"err", stream=b"stderr")
    assert await read_log(log, stream="Stderr") == b"err\n"


async def test_an_incomplete_record_is_skipped(log: LogFile) -> None:
    log.write(b"whole")
    with log.path.open("ab") as file:
        file.write(log.raw(b"torn")[:-3])
    assert await read_log(log) == b"whole\n"


async def test_a_missing_log_is_empty(tmp_path: pathlib.Path) -> None:
    pieces = [piece async for piece in reader.read(tmp_path / "none", 0, LogOptions(tail_lines=3), START)]
    assert pieces == [b""]


async def test_a_follower_sees_each_line_once_over_many_rotations(log: LogFile) -> None:
    over = False
    pieces: list[bytes] = []

    async def follow() -> None:
        async for piece in reader.read(log.directory, 0, LogOptions(follow=True), START, reader.FollowedContainer(lambda: over)):
            pieces.append(piece)

    task = asyncio.create_task(follow())
    for number in range(3000):
        log.write(b"%d" % number)
        if number % 37 == 0:
            log.rotate()
        if number % 10 == 0:
            await asyncio.sleep(0)
    over = True
    await asyncio.wait_for(task, 30)
    assert b"".join(pieces) == b"".join(b"%d\n" % number for number in range(3000))


async def test_a_follower_ends_when_the_exit_is_reported_without_another_poll(log: LogFile) -> None:
    log.write(b"a")
    exited = asyncio.Event()

    async def wait_for_exit(seconds: float) -> None:
        await exited.wait()

    follower = reader.read(
        log.directory, 0, LogOptions(follow=True), START, reader.FollowedContainer(exited.is_set, wait_for_exit)
    )
    reading = asyncio.create_task(_all(follower))
    await asyncio.sleep(0)
    log.write(b"b")
    exited.set()
    assert await asyncio.wait_for(reading, 30) == b"a\nb\n"


async def _all(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def test_a_follower_continues_when_its_file_is_deleted(log: LogFile) -> None:
    log.write(b"a")
    follower = reader.read(log.directory, 0, LogOptions(follow=True), START, reader.FollowedContainer(lambda: False))
    seen = b""
    while seen != b"a\n":
        seen += await anext(follower)
    log.write(b"b")
    log.rotate()
    for path in log.directory.iterdir():
        if path != log.path:
            path.unlink()
    log.write(b"c")
    while not seen.endswith(b"c\n"):
        seen += await anext(follower)
    assert seen == b"a\nb\nc\n"
    await follower.aclose()


async def test_a_closed_follower_closes_its_file(log: LogFile) -> None:
    log.write(b"a")
    follower = reader.read(log.directory, 0, LogOptions(follow=True), START, reader.FollowedContainer(lambda: False))
    while await anext(follower) != b"a\n":
        pass
    await follower.aclose()
    assert not [path for path in open_files() if path.startswith(str(log.directory))]


def open_files() -> list[str]:
    paths = []
    for link in os.scandir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            paths.append(os.readlink(link.path))
    return paths


def test_the_log_directory_lists_pods_containers_and_attempts(tmp_path: pathlib.Path) -> None:
    for attempt in ("0.log", "0.log.1", "2.log", "10.log"):
        path = log_directory.container_directory(tmp_path, "ns", "job-worker-0", "u-1", "main") / attempt
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "stray").touch()
    (one,) = log_directory.list_pod_logs(tmp_path)
    assert (one.namespace, one.pod, one.uid, one.containers()) == ("ns", "job-worker-0", "u-1", ["main"])
    assert log_directory.attempts(one.path / "main") == [0, 2, 10]
    assert log_directory.list_pod_logs(tmp_path / "none") == []
