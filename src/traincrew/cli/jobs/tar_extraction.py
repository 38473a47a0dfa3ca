"""Extracts an archive that a container has sent, without leaving the destination half written. The container may be hostile."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import shutil
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


class _Rejected(Exception):
    """A member of the archive that is left out."""


class _Extraction:
    """Writes members below a directory. The container must not write elsewhere: no path and no link leads out of the directory.

    tarfile does that with filters, which Python 3.11.0 to 3.11.3 do not have.
    """

    def __init__(self, archive: tarfile.TarFile, directory: pathlib.Path) -> None:
        self._archive, self._directory = archive, str(directory)
        self._directories = {"", "."}
        """Each is in another one. None can become a link: they are not removed."""
        self._files: set[str] = set()

    def write(self, member: tarfile.TarInfo) -> None:
        name = member.name.rstrip("/")
        folder, last = os.path.split(name)
        if folder not in self._directories or last == "..":
            raise _Rejected("its directory is not in the archive")
        path = os.path.join(self._directory, name)
        if member.isdir():
            self._make_directory(name, path)
            return
        if name in self._directories or last in ("", "."):
            raise _Rejected("it is a directory of the archive, too")
        if os.path.lexists(path):
            os.unlink(path)
        self._files.discard(name)
        if member.issym():
            os.symlink(_target_inside(member.linkname, folder), path)
        elif member.islnk():
            os.link(self._written_file(member.linkname), path, follow_symlinks=False)
        else:
            self._write_file(member, path)
        if not member.issym():
            self._files.add(name)

    def _make_directory(self, name: str, path: str) -> None:
        if name in self._directories:
            return
        if os.path.lexists(path):
            raise _Rejected("it is a file of the archive, too")
        os.mkdir(path)
        self._directories.add(name)

    def _written_file(self, name: str) -> str:
        if name not in self._files:
            raise _Rejected(f"it is a link to {name}, which is not a file of the archive")
        return os.path.join(self._directory, name)

    def _write_file(self, member: tarfile.TarInfo, path: str) -> None:
        content = self._archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise _Rejected("it is a device or a pipe")
        # No special bits, nobody else may write, the owner may read and write.
        mode = (member.mode & (0o755 if member.mode & 0o100 else 0o644)) | 0o600
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
            os.fchmod(file.fileno(), mode)
            os.utime(file.fileno(), (member.mtime, member.mtime))


def _target_inside(target: str, folder: str) -> str:
    """The target of a link in this folder, whose parents are directories and not links.

    After its first "..", it only leads down: a directory on that way may be a link, whose parent is elsewhere.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len([part for part in folder.split("/") if part not in ("", ".")])
    if target.startswith("/") or ups > depth or ".." in parts[ups:]:
        raise _Rejected(f"it is a link to {target}, which leads out of the copied directory")
    return target


def _extract_to(source: PieceQueue, directory: pathlib.Path) -> list[str]:
    skipped = []
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:  # type: ignore[call-overload]
            extraction = _Extraction(archive, directory)
            for member in archive:
                try:
                    extraction.write(member)
                except _Rejected as error:
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
