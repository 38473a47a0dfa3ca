"""Compressed archives whose bytes depend on names and contents alone."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class ArchiveEntry(NamedTuple):
    content: bytes
    mode: int = 0o644


def write(target: Path, files: Mapping[str, ArchiveEntry], epoch: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, entry in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(entry.content), entry.mode, epoch
            archive.addfile(info, io.BytesIO(entry.content))
    target.write_bytes(gzip.compress(buffer.getvalue(), compresslevel=9, mtime=epoch))


def normalize(path: Path, epoch: int) -> None:
    """Writes an archive anew: without times, owners and the order of the build."""
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = ArchiveEntry(content.read(), 0o755 if member.mode & 0o100 else 0o644)
    write(path, files, epoch)
