"""Tar archives as streams: of local files, and on their way between the event loop and a thread."""

from __future__ import annotations

import dataclasses
import pathlib
import queue
import tarfile
import threading
from collections.abc import Iterator

from traincrew import errors

MAX_PIECES = 32
"""Pieces in memory before the faster side waits."""
POLL_SECONDS = 0.2
"""Time after which a side that waits notices that the other side has been abandoned."""


class PieceQueue:
    """Bytes on the way between the event loop and a thread that reads or writes an archive. Empty bytes are the end."""

    def __init__(self) -> None:
        self._pieces: queue.Queue[bytes] = queue.Queue(MAX_PIECES)
        self._rest = b""
        self._ended = False
        self._abandoned = threading.Event()

    def put(self, data: bytes) -> None:
        """Raise BrokenPipeError if nobody reads any more."""
        while not self._abandoned.is_set():
            try:
                return self._pieces.put(data, timeout=POLL_SECONDS)
            except queue.Full:
                continue
        raise BrokenPipeError

    def get(self) -> bytes:
        while not self._abandoned.is_set():
            try:
                return self._pieces.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
        return b""

    def abandon(self) -> None:
        """End both sides, at whatever they wait for."""
        self._abandoned.set()

    def read(self, size: int) -> bytes:
        """For tarfile: exactly `size` bytes, or fewer at the end."""
        pieces, missing = [self._rest], size - len(self._rest)
        while missing > 0 and not self._ended:
            piece = self.get()
            self._ended = not piece
            pieces.append(piece)
            missing -= len(piece)
        found = b"".join(pieces)
        self._rest = found[size:]
        return found[:size]

    def drain(self) -> None:
        """Read to the end, so that the side that puts can end."""
        while not self._ended:
            self._ended = not self.get()

    def write(self, data: bytes) -> int:
        """For tarfile."""
        if data:
            self.put(bytes(data))
        return len(data)


@dataclasses.dataclass(frozen=True)
class LocalArchive:
    """An archive of a local file or directory."""

    members: tuple[tuple[pathlib.Path, tarfile.TarInfo], ...]

    @classmethod
    def of(cls, source: pathlib.Path, name: str) -> LocalArchive:
        """name: the name of the file or directory in the archive."""
        try:
            return cls(tuple(_members(source, name)))
        except OSError as error:
            raise errors.SettingsError(f"cannot read {error.filename or source}: {error.strerror or error}") from None

    @property
    def size(self) -> int:
        """Bytes of the archive. The receiver reads this many: older API servers cannot signal the end of input."""
        content = sum(len(info.tobuf(tarfile.GNU_FORMAT)) + _blocks(info.size if info.isreg() else 0) for _, info in self.members)
        return -(-(content + 2 * tarfile.BLOCKSIZE) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE

    def write(self, target: PieceQueue) -> None:
        """Run in a thread."""
        with tarfile.open(fileobj=target, mode="w|", format=tarfile.GNU_FORMAT) as archive:  # type: ignore[call-overload]
            for path, info in self.members:
                if info.isreg():
                    with path.open("rb") as file:
                        archive.addfile(info, file)
                else:
                    archive.addfile(info)


def _members(source: pathlib.Path, name: str) -> Iterator[tuple[pathlib.Path, tarfile.TarInfo]]:
    with tarfile.open(fileobj=PieceQueue(), mode="w|") as archive:  # type: ignore[call-overload]
        pending = [(source, name)]
        while pending:
            path, member = pending.pop()
            archive.inodes.clear()  # each file with its content: hard links would count only once
            info = archive.gettarinfo(path, member)
            if info is None:  # a socket
                continue
            yield path, info
            if info.isdir():
                pending += [(each, f"{member}/{each.name}") for each in sorted(path.iterdir(), reverse=True)]


def _blocks(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
