"""Where the cluster keeps everything: room, speed, and a file system that keeps promises."""

from __future__ import annotations

import os
import pathlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator

from traincrew.cli.doctor.finding import Finding, fail, ok, warn
from traincrew.embedded.kubelet.runtime.rootfs import host_mounts

REMOTE = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "fuse.sshfs")
LEAST, LITTLE = 256 * 2**20, 5 * 2**30
SLOW = 0.1
"""Seconds of an fsync from which on every write is felt."""
_TRIES = 5
_ELSEWHERE = "Choose a directory on a local disk with --data DIR or $TRAINCREW_DATA."


def nearest(path: pathlib.Path) -> pathlib.Path:
    """The path, or what of it there is."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def check(data: pathlib.Path) -> Iterator[Finding]:
    there = nearest(data)
    if not os.access(there, os.W_OK | os.X_OK):
        yield fail("data", f"{there} is not writable by this user", _ELSEWHERE)
        return
    yield _kind(data, there)
    yield _room(there)
    try:
        yield _speed(there)
    except OSError as error:
        yield fail("data", f"cannot write to {there}: {error.strerror}", _ELSEWHERE)


def _kind(data: pathlib.Path, there: pathlib.Path) -> Finding:
    kind = kind_of(there, host_mounts.visible(host_mounts.read()))
    if kind in REMOTE:
        return fail(
            "data", f"{data} is on {kind}, where file locks and the write-ahead log of the database are not reliable", _ELSEWHERE
        )
    if kind in ("tmpfs", "ramfs"):
        return warn("data", f"{data} is on {kind}: the data uses memory and is lost on reboot", _ELSEWHERE)
    return ok("data", f"{data} is on {kind}")


def kind_of(path: pathlib.Path, mounts: tuple[host_mounts.HostMount, ...]) -> str:
    """The file system of a path: that of the longest mount above it."""
    above = [each for each in mounts if path.resolve().is_relative_to(each.path)]
    return max(above, key=lambda each: len(each.path)).kind if above else "an unknown file system"


def _room(there: pathlib.Path) -> Finding:
    free = shutil.disk_usage(there).free
    message = f"{free / 2**30:.1f} GiB free"
    if free < LEAST:
        return fail("disk", message, "Free disk space. On a full disk, writes fail and log lines are lost.")
    if free < LITTLE:
        return warn("disk", message, "Free disk space. Logs alone may use 1 GiB (--log-bytes).")
    return ok("disk", message)


def _speed(there: pathlib.Path) -> Finding:
    took = []
    with tempfile.TemporaryFile(dir=there) as file:
        for _ in range(_TRIES):
            file.write(b"x" * 4096)
            file.flush()
            before = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - before)
    message = f"an fsync takes {statistics.median(took) * 1000:.1f} ms"
    if statistics.median(took) > SLOW:
        return warn("fsync", message, f"Every write to the database waits for fsync. {_ELSEWHERE}")
    return ok("fsync", message)
