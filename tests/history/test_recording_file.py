"""Recording files: what is written is read again, and what is not a complete recording is refused with the reason."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import tempfile
from typing import Any

import msgspec
import pytest
from tests.history import recordings
from tests.history.recordings import MANIFEST, POD, job, lines, log, pod, raw

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.history import opened_recording, recording_lines
from traincrew.history.opened_recording import OpenedRecording
from traincrew.history.recording_file import RecordingDecoder
from traincrew.history.recording_lines import LOCAL, Manifest, RecordingLimits

MIB = 1 << 20
SMALL = RecordingLimits(file=MIB, content=3 * MIB, line=MIB, pods=2, others=3)


async def opened(data: bytes, limits: RecordingLimits = LOCAL, size: int = 1 << 16) -> OpenedRecording:
    return await opened_recording.open_recording(recordings.chunks(data, size), limits)


async def refused(data: bytes, limits: RecordingLimits = LOCAL, size: int = 1 << 16) -> str:
    with pytest.raises(errors.RecordingError) as found:
        await opened(data, limits, size)
    return str(found.value)


async def text(found: OpenedRecording, options: pod_logs.PodLogOptions | None = None) -> list[bytes]:
    recording = await found.read()
    batches = found.logs.lines(recording.pods[0], "jax", options or pod_logs.PodLogOptions())
    return [line.text async for batch in batches for line in batch]


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
async def test_a_recording_is_read_as_it_was_written(size: int) -> None:
    found = await opened(recordings.encoded(lines()), size=size)
    try:
        recording = await found.read()
        assert (recording.job.name, recording.job.kind, found.missing) == ("mnist", "jaxjob", ("Nothing.",))
        assert json.loads(recording.job.object) == job().object
        assert [json.loads(each.object) for each in recording.pods] == [pod().object]
        assert [json.loads(each.object)["reason"] for each in recording.events] == ["Started"]
        assert [(each.cpu, each.memory) for each in recording.samples] == [(0.5, 1), (1.5, 2)]
        assert await text(found) == [b"printed"]
    finally:
        await found.close()


async def test_runs_and_bytes_that_are_no_text_are_kept() -> None:
    stamp = "2026-11-18T07:30:30.000000001Z "
    chunk = recording_lines.chunk(log(run=1, text=f"{stamp}second\n"))
    binary = recording_lines.of_log(chunk._replace(lines=stamp.encode() + b"\xff\xfe\n", number=1))
    assert binary.base64
    assert not binary.text
    found = await opened(recordings.encoded(lines(log(text=f"{stamp}first\n"), recording_lines.of_log(chunk), binary)))
    try:
        assert await text(found) == [b"first", b"second", b"\xff\xfe"]
        assert await text(found, pod_logs.PodLogOptions(previous=True)) == [b"first"]
    finally:
        await found.close()


async def test_a_file_that_a_browser_has_decompressed_is_a_recording_too() -> None:
    plain = gzip.decompress(recordings.encoded(lines()))
    found = await opened(plain)
    await found.close()
    assert "cut off" in await refused(plain[:-1])


def test_a_file_that_is_cut_off_anywhere_is_refused() -> None:
    whole = recordings.encoded(lines(*(log(number, f"2026-11-18T07:30:30Z line {number}\n" * 5) for number in range(20))))
    for length in range(2, len(whole)):
        decoder = RecordingDecoder(LOCAL)
        list(decoder.feed(whole[:length]))
        with pytest.raises(errors.RecordingError, match="is not complete"):
            decoder.finish()


async def test_a_file_that_is_cut_off_between_two_lines_is_refused() -> None:
    documents = [msgspec.to_builtins(each) for each in lines()]
    for count in range(1, len(documents)):
        assert "is not complete" in await refused(raw(*documents[:count]))
    assert "it has more lines than its end says" in await refused(raw(*documents, {"type": "end", "lines": 7}))
    assert "1 of 9 lines are missing" in await refused(raw(*documents, {"type": "end", "lines": 9}))


OTHER_FILES = {
    "zip": b"PK\x03\x04 a zip file",
    "damaged gzip": b"\x1f\x8b\x08\x00garbage that is no gzip stream",
    "text": gzip.compress(b"hello\n"),
    "json": gzip.compress(b'{"a": 1}\n'),
    "empty line": gzip.compress(b"\n"),
    "plain json": b"{}\n",
    "no manifest": b'{"type":"job"}\n',
    "one byte": b"x",
    "zeros": b"\x00" * 5000,
    "list": raw([1, 2]),
    "end": raw({"type": "end", "lines": 0}),
    "deep": gzip.compress(b"[" * 2_000_000),
}


@pytest.mark.parametrize("name", OTHER_FILES)
async def test_other_files_are_no_recordings(name: str) -> None:
    assert "not a recording of traincrew" in await refused(OTHER_FILES[name], SMALL)


async def test_an_empty_file_is_no_recording() -> None:
    assert "the file is empty" in await refused(b"")


async def test_a_newer_format_names_the_version_that_reads_it() -> None:
    newer = Manifest(format=recording_lines.FORMAT + 1, version="9.8.7", exported=0)
    message = await refused(recordings.encoded([newer, *lines()[1:]]))
    assert "written by a newer version of traincrew (9.8.7, format 2" in message
    assert "Use that version" in message


async def test_limits_are_those_of_what_is_read_not_of_what_is_declared() -> None:
    bomb = gzip.compress(msgspec.json.encode(MANIFEST) + b"\n" + b" " * 20 * MIB)
    assert len(bomb) < 50_000
    assert "line 2 is longer than 1 MiB" in await refused(bomb, SMALL)
    many = recordings.encoded(lines(*(log(number, "x" * (MIB // 2)) for number in range(8))))
    assert "more than 3 MiB of data" in await refused(many, SMALL)
    assert "larger than 1 MiB" in await refused(b"\x1f\x8b" + bytes(2 * MIB), SMALL, size=3 * MIB)
    documents = [msgspec.to_builtins(each) for each in lines()]
    assert "more than 3 lines of the type missing" in await refused(raw(*documents[:2], *[documents[2]] * 4), SMALL)


async def test_data_behind_the_end_is_refused() -> None:
    whole = recordings.encoded(lines())
    assert "data follows its end" in await refused(whole + b"more")
    assert "data follows its end" in await refused(whole + whole)
    documents = [msgspec.to_builtins(each) for each in lines()]
    assert "lines follow its end" in await refused(raw(*documents, {"type": "end", "lines": 8}, documents[1]))


def changed(found: Any, **fields: Any) -> dict[str, Any]:
    return {**msgspec.to_builtins(found), **fields}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (changed(job(), name="../../etc/passwd"), "another name, namespace or UID"),
        (changed(job(), uid=""), "another name, namespace or UID"),
        (changed(job(), kind="cronjob"), "which this version does not know"),
        (changed(job(), created=-1), "line 2 is not valid"),
        (changed(job(), created=1 << 80), "line 2 is not valid"),
        (changed(job(), deleted="yesterday"), "line 2 is not valid"),
        (changed(job(), object=[]), "line 2 is not valid"),
        (changed(job(), name="x" * 300), "line 2 is not valid"),
        (changed(pod()), "its second line is not the job"),
        ({"type": "program", "run": "rm -rf /"}, "line 2 is not valid"),
        (b'{"type":"job"', "line 2 is not valid"),
        (b"\xff\xfe", "line 2 is not valid"),
        (b'{"type":"job","object":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001, "line 2 is not valid"),
    ],
    ids=range(13),
)
async def test_a_job_that_no_api_server_has_stored_is_refused(line: Any, message: str) -> None:
    assert message in await refused(raw(msgspec.to_builtins(MANIFEST), line, {"type": "end", "lines": 2}))


@pytest.mark.parametrize("name", ["../../x", "a/b", "A", "<script>", "a\n", "-a", ""])
async def test_names_are_those_of_objects_of_the_api(name: str) -> None:
    metadata = recordings.metadata(name, POD)
    hostile = changed(pod(), name=name, object={**pod().object, "metadata": metadata})
    documents = [msgspec.to_builtins(each) for each in lines()[:2]]
    assert "is not a name of the Kubernetes API" in await refused(raw(*documents, hostile))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (changed(log(), pod="another"), "no pod with UID 'another'"),
        (changed(log(), base64="!"), "the log of 'jax' is not valid"),
        (changed(log(), run=1 << 40), "line 4 is not valid"),
        ({"type": "samples", "pod": POD, "times": [1], "cpu": [], "memory": []}, "differ in length"),
        ({"type": "samples", "pod": POD, "times": [1], "cpu": [1.0], "memory": [1 << 70]}, "line 4 is not valid"),
        (changed(pod()), "is there twice"),
        (changed(job()), "more than one job"),
        (changed(MANIFEST), "begins another recording"),
    ],
    ids=range(8),
)
async def test_lines_that_do_not_belong_together_are_refused(line: Any, message: str) -> None:
    documents = [msgspec.to_builtins(each) for each in (MANIFEST, job(), pod())]
    assert message in await refused(raw(*documents, line, {"type": "end", "lines": 4}))


async def test_nothing_is_left_in_the_temporary_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = await opened(recordings.encoded(lines()))
    assert not os.listdir(tmp_path)  # also while it is open: a process that is killed leaves nothing
    assert await text(found) == [b"printed"]
    await found.close()
    await refused(raw({"type": "recording", "format": 1}))
    assert not os.listdir(tmp_path)
