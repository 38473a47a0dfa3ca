"""subPath: a path in a volume. No symbolic link leads out of the volume."""

from __future__ import annotations

import os
import stat

from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError


def resolve(volume: str, inner: str) -> str:
    """The path in the volume without symbolic links. Creates a missing directory. Raises VolumeSourceError or OSError."""
    base = os.path.realpath(volume)
    target = os.path.join(base, inner)
    if not os.path.lexists(target):
        _create(base, inner)
    real = os.path.realpath(target, strict=True)
    _check(real, base)
    return os.path.normpath(os.path.join(volume, os.path.relpath(real, base)))


def _check(path: str, base: str) -> None:
    if os.path.commonpath((path, base)) != base:
        raise VolumeSourceError(f"{path} is outside of {base}")


def _create(base: str, inner: str) -> None:
    """Creates directories by descriptors, so that a symbolic link that appears meanwhile is not followed."""
    mode = stat.S_IMODE(os.stat(base).st_mode)
    parts = [part for part in inner.split("/") if part not in ("", ".")]
    known = base
    while parts and os.path.lexists(os.path.join(known, parts[0])):
        known = os.path.realpath(os.path.join(known, parts.pop(0)), strict=True)
        _check(known, base)
    here = os.open(known, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for part in parts:
            os.mkdir(part, dir_fd=here)
            inside = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = inside
            os.fchmod(here, mode | stat.S_ISGID & os.fstat(here).st_mode)
    finally:
        os.close(here)
