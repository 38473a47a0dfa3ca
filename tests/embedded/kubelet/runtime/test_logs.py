"""The output of a container in its log, byte by byte, also on a full disk."""

from __future__ import annotations

import datetime
import hashlib
import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, run_to_exit, wait_for_exit, wait_until

from traincrew.embedded.kubelet.logs import cri_format
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.container.log_file import LogFile
from traincrew.embedded.kubelet.runtime.container.output_pump import MAX_LINE_BYTES, LogRecordSplitter
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions


async def test_lines_have_time_stream_and_tag(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await run_to_exit(harness, shim, "echo hello; echo; printf rest")
    lines = [cri_format.parse(line) for line in _raw(harness).splitlines()]
    assert [(line.stream, line.whole, line.text) for line in lines if line] == [
        (b"stdout", True, b"hello"),
        (b"stdout", True, b""),
        (b"stdout", False, b"rest"),
    ]
    stamps = [line.stamp for line in lines if line]
    assert stamps == sorted(stamps)
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(stamps[0].decode())
    assert abs(age) < datetime.timedelta(minutes=1)


async def test_a_long_line_is_written_in_parts(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await run_to_exit(harness, shim, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo next")
    records = harness.log()
    assert {len(text) for _, tag, text in records if tag == "P"} == {MAX_LINE_BYTES}
    assert harness.output() == b"x" * 1_000_000 + b"\nnext\n"


async def test_binary_output_is_kept_byte_for_byte(harness: ShimHarness) -> None:
    noise = os.urandom(3_000_000)
    shim = await harness.pod()
    await shim.start(harness.container("cat", stdin=True, stdin_once=True))
    await _type(shim, noise)
    await wait_for_exit(shim)
    assert hashlib.sha256(harness.output()).digest() == hashlib.sha256(noise).digest()


async def test_files_are_rotated_and_the_oldest_are_deleted(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await run_to_exit(harness, shim, "seq 1 200000", log_bytes=500_000, log_files=4)
    directory = harness.data / "logs/main"
    assert sorted(os.listdir(directory)) == ["0.log", "0.log.1", "0.log.2", "0.log.3"]
    assert all(path.stat().st_size <= 500_000 for path in directory.iterdir())
    numbers = [int(text) for _, _, text in harness.log()]
    assert numbers == list(range(numbers[0], 200_001))
    assert len(numbers) > 20_000


async def test_rotation_loses_no_output(harness: ShimHarness) -> None:
    shim = await harness.pod()
    await run_to_exit(harness, shim, "seq 1 100000", log_bytes=300_000, log_files=100)
    assert [int(text) for _, _, text in harness.log()] == list(range(1, 100_001))


def test_timestamps_increase_when_the_clock_is_set_back(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogFile(str(tmp_path), 0, 0, 10)
    monkeypatch.setattr("time.time_ns", iter(range(2_000_000_000_000_000_000, 0, -1_000_000_000_000)).__next__)
    for _ in range(8):
        log.write(b"stdout", [(b"F", b"text")])
    log.close()
    stamps = [line.split(b" ")[0] for line in (tmp_path / "0.log").read_bytes().splitlines()]
    assert stamps == sorted(set(stamps))
    assert len(stamps) == 8


def test_lines_are_split_correctly_from_any_fragmentation() -> None:
    text = b"".join(b"%d " % number * (number % 97) + b"\n" * (number % 3) for number in range(2000)) + b"x" * 50_000
    for size in (1, 7, 16_384, 65_536, len(text)):
        cutter, records = LogRecordSplitter(), list[tuple[bytes, bytes]]()
        for start in range(0, len(text), size):
            records += cutter.feed(text[start : start + size])
        records += cutter.rest()
        assert b"".join(part + (b"\n" if tag == b"F" else b"") for tag, part in records) == text
        assert all(len(part) <= MAX_LINE_BYTES for _, part in records)


@pytest.fixture
def small_disk(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file system that is almost full."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount one outside of a pod")
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", path], check=True)
    (path / "ballast").write_bytes(bytes((4 << 20) - 300_000))
    yield path
    subprocess.run(["umount", path], check=True)


async def test_a_full_disk_drops_lines_and_reports_how_many(harness: ShimHarness, small_disk: pathlib.Path) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("seq 1 20000; read go; echo after", log=str(small_disk), stdin=True))
    await wait_until(lambda: os.statvfs(small_disk).f_bavail == 0)
    (small_disk / "ballast").unlink()
    await _type(shim, b"go\n")
    assert (await wait_for_exit(shim)).code == 0
    texts = _texts(small_disk)
    assert _dropped_count(texts) > 0
    assert len(texts) - len(_reports(texts)) + _dropped_count(texts) == 20_001
    numbers = [int(text) for text in texts if text.isdigit()]
    assert numbers == sorted(set(numbers))
    assert texts[-1] == b"after"


async def test_lines_dropped_at_the_end_are_reported_once_there_is_space(harness: ShimHarness, small_disk: pathlib.Path) -> None:
    shim = await harness.pod()
    await shim.start(harness.shell("seq 1 20000", log=str(small_disk)))
    assert (await wait_for_exit(shim)).code == 0
    before = _texts(small_disk)
    assert not _reports(before)
    (small_disk / "ballast").unlink()
    await wait_until(lambda: bool(_reports(_texts(small_disk))))
    assert len(before) + _dropped_count(_texts(small_disk)) == 20_000


def _texts(directory: pathlib.Path) -> list[bytes]:
    lines = [cri_format.parse(line) for line in (directory / "0.log").read_bytes().splitlines()]
    assert all(lines), "a line is torn"
    return [line.text for line in lines if line]


def _reports(texts: list[bytes]) -> list[bytes]:
    return [text for text in texts if text.endswith(b"lines of output were lost here: no space left on device")]


def _dropped_count(texts: list[bytes]) -> int:
    return sum(int(text.split()[1]) for text in _reports(texts))


async def _type(shim: runtime.ShimClient, data: bytes) -> None:
    session = await shim.attach("main", ExecOptions(stdin=True))
    assert session.stdin is not None
    session.stdin.write(data)
    await session.stdin.drain()
    session.stdin.close()
    await wait_until(lambda: session.stdin is not None and session.stdin.gone)
    session.close()


def _raw(harness: ShimHarness) -> bytes:
    return (harness.data / "logs/main/0.log").read_bytes()
