"""Extracts an archive that a container has sent, without leaving the destination half written. The container may be hostile."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import tarfile
import tempfile
from collections.abc import Iterator

from traincrew import errors
from traincrew.cli.jobs.tar_streams import PieceQueue
from traincrew.embedded.file_trees import removal

log = logging.getLogger(__name__)


def extract(source: PieceQueue, target: pathlib.Path, *, contents: bool = False) -> list[str]:
    """Extract the only file or directory of an archive as `target`. Return what was left out, and why. Run in a thread.

    contents: the archive has the contents of a directory. Nothing is written to the target before the whole archive has arrived.
    """
    try:
        with _temporary_directory(target.parent) as base:
            skipped = _extract_to(source, base)
            entries = [base] if contents else list(base.iterdir())
            if len(entries) != 1:
                raise errors.ServerError("the archive that the container sent is empty or incomplete")
            _merge(entries[0], target)
        return skipped
    except OSError as error:
        raise errors.SettingsError(f"cannot write {error.filename or target}: {error.strerror or error}") from None
    finally:
        source.drain()


@contextlib.contextmanager
def _temporary_directory(parent: pathlib.Path) -> Iterator[pathlib.Path]:
    """On the file system of the target. It is removed whatever is in it: the container decides how deep it is."""
    directory = tempfile.mkdtemp(prefix=".traincrew-cp-", dir=parent)
    try:
        base = pathlib.Path(directory, "contents")
        base.mkdir()
        yield base
    finally:
        try:
            removal.remove_tree(directory)
        except removal.NotRemoved as error:
            log.warning("cannot remove %s. Remove it yourself.", error)


class _Filter:
    """tarfile's filter "data": the container must not write outside of the target. No absolute paths, no links to other places.

    That filter resolves the whole path of each member. A file in a directory that was made here needs no such check.
    """

    def __init__(self) -> None:
        self._made = {"", "."}
        """Directories, each of which is in another one. None can become a link: they are not removed."""

    def __call__(self, member: tarfile.TarInfo, directory: str) -> tarfile.TarInfo | None:
        name = member.name.rstrip("/")
        folder, last = os.path.split(name)
        is_plain = member.isreg() or member.isdir()
        if not is_plain or folder not in self._made or last in ("", ".", "..") or os.path.islink(os.path.join(directory, name)):
            return tarfile.data_filter(member, directory)
        if member.isdir():
            self._made.add(name)
        # As that filter does: no owner, no special bits, nobody else may write, the owner may read and write.
        mode = None if member.isdir() else (member.mode & (0o755 if member.mode & 0o100 else 0o644)) | 0o600
        return member.replace(mode=mode, uid=None, gid=None, uname=None, gname=None, deep=False)  # type: ignore[arg-type]


def _extract_to(source: PieceQueue, directory: pathlib.Path) -> list[str]:
    skipped, check = [], _Filter()
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                try:
                    archive.extract(member, directory, filter=check)
                except tarfile.FilterError as error:
                    skipped.append(f"{member.name}: {error}")
    except tarfile.TarError as error:
        raise errors.ServerError(f"the archive that the container sent is incomplete: {error}") from None
    return skipped


def _merge(source: pathlib.Path, target: pathlib.Path) -> None:
    """Like `cp -r`: a directory is merged into an existing one."""
    pending = [(str(source), str(target))]
    while pending:
        moved, place = pending.pop()
        if os.path.isdir(place) and os.path.isdir(moved) and not os.path.islink(moved):
            pending += [(os.path.join(moved, name), os.path.join(place, name)) for name in os.listdir(moved)]
        elif os.path.isdir(place) and not os.path.islink(place):
            raise errors.SettingsError(f"cannot overwrite directory {place} with a file")
        else:
            os.replace(moved, place)
