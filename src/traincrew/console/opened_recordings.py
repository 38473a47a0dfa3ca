"""The recording files that a user has opened in a console. They are gone when the session ends, and no other user sees them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Iterator

from traincrew import errors
from traincrew.console.settings import RecordingSpace
from traincrew.history import opened_recording
from traincrew.history.opened_recording import OpenedRecording
from traincrew.history.recording_lines import RecordingLimits

PREFIX = "file-"
"""In addresses, NAME@file-ID stands for the job of an opened recording. No UID of an object begins so."""
MAX_OPENED = 5
"""Of one user. For one more, that which was not looked at for the longest time is closed."""
MAX_IMPORTS = 2
"""Files that are read at a time, of all users."""


def is_opened(uid: str) -> bool:
    return uid.startswith(PREFIX)


class OpenedRecordings:
    def __init__(self, space: RecordingSpace) -> None:
        self._space = space
        self._opened: dict[str, OpenedRecording] = {}
        """The one that was looked at last is the last one."""

    def __iter__(self) -> Iterator[tuple[str, OpenedRecording]]:
        return iter(self._opened.items())

    async def open(self, chunks: AsyncIterator[bytes], limits: RecordingLimits) -> str:
        """Returns its ID. Raise RecordingError, StoreError."""
        with self._importing():
            found = await opened_recording.open_recording(self._counted(chunks), limits)
        return await self.add(found)

    @contextlib.contextmanager
    def _importing(self) -> Iterator[None]:
        if self._space.importing >= MAX_IMPORTS:
            raise errors.TooManyRequests(f"{MAX_IMPORTS} recordings are being opened in this console already")
        self._space.importing += 1
        try:
            yield
        finally:
            self._space.importing -= 1

    async def add(self, found: OpenedRecording) -> str:
        while len(self._opened) >= MAX_OPENED:
            await self.close(next(iter(self._opened)))
        name = PREFIX + secrets.token_hex(8)
        self._opened[name] = found
        self._space.used += found.size
        return name

    async def _counted(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            if self._space.used + size > self._space.limit:
                raise errors.RecordingError(
                    "the recordings that are open in this console use all space that they may. Close some, or run `traincrew "
                    "open FILE` on your machine."
                )
            yield chunk

    def get(self, name: str) -> OpenedRecording:
        """Raise NoJob."""
        found = self._opened.pop(name, None)
        if found is None:
            raise errors.NoJob("the recording is not open any more. Open its file again")
        self._opened[name] = found
        return found

    async def close(self, name: str) -> None:
        if (found := self._opened.pop(name, None)) is not None:
            self._space.used -= found.size
            await found.close()

    async def close_all(self) -> None:
        for name in list(self._opened):
            await self.close(name)
