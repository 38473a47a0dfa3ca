"""A recording file that is open: its records are in a temporary store of this process, which nobody else can read."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import pathlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from typing import BinaryIO

from traincrew import errors
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.recording_import import RecordingImport
from traincrew.history.recording_lines import Manifest, RecordingLimits
from traincrew.history.records import JobRecord, Recording
from traincrew.history.stored_logs import StoreLogs

CHUNK_BYTES = 256 * 1024


@dataclasses.dataclass(frozen=True)
class OpenedRecording:
    manifest: Manifest
    job: JobRecord
    missing: tuple[str, ...]
    size: int
    """Bytes of the file."""
    thread: DatabaseThread

    async def read(self) -> Recording:
        found = await self.thread.call(lambda store: store.recording(self.job.uid))
        assert found is not None
        return found

    @property
    def logs(self) -> StoreLogs:
        return StoreLogs(self.thread)

    async def close(self) -> None:
        await self.thread.close()


async def open_recording(chunks: AsyncIterator[bytes], limits: RecordingLimits) -> OpenedRecording:
    """Raise RecordingError, StoreError."""
    directory = await asyncio.to_thread(_directory)
    thread = DatabaseThread(str(directory / "recording.db"), writable=True)
    try:
        opened = await _import(chunks, limits, thread)
    except BaseException:
        await thread.close()
        raise
    finally:
        # The store stays open. Without names, its files are removed with the process, however it ends.
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
    return opened


async def _import(chunks: AsyncIterator[bytes], limits: RecordingLimits, thread: DatabaseThread) -> OpenedRecording:
    importing = RecordingImport(limits)
    async for chunk in chunks:
        await thread.call(functools.partial(importing.feed, chunk))
    await thread.call(importing.finish)
    return OpenedRecording(importing.manifest, importing.job, importing.missing, importing.size, thread)


def _directory() -> pathlib.Path:
    try:
        return pathlib.Path(tempfile.mkdtemp(prefix="traincrew-recording-"))
    except OSError as error:
        raise errors.StoreError(
            f"no temporary directory can be written ({error.strerror or error}). Set $TMPDIR to one that can."
        ) from None


async def open_file(path: str, limits: RecordingLimits) -> OpenedRecording:
    """path: `-` is standard input. Raise RecordingError, which names the file."""
    try:
        file = await asyncio.to_thread(_open, path)
    except OSError as error:
        raise errors.RecordingError(f"cannot read {path!r}: {error.strerror or error}") from None
    with file:
        try:
            return await open_recording(_chunks(file), limits)
        except errors.RecordingError as error:
            raise errors.RecordingError(f"{path}: {error}") from None


def _open(path: str) -> BinaryIO:
    return open(0 if path == "-" else path, "rb")


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    while True:
        try:
            chunk = await asyncio.to_thread(file.read, CHUNK_BYTES)
        except OSError as error:  # such as a directory
            raise errors.RecordingError(f"cannot be read: {error.strerror or error}") from None
        if not chunk:
            return
        yield chunk
