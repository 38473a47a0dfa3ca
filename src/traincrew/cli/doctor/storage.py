"""Checks the file system of the data directory: type, free space and speed of fsync."""

from __future__ import annotations

import os
import pathlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator

from traincrew.apimachinery import byte_sizes
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.embedded.kubelet.runtime import host_mounts

REMOTE_FILESYSTEMS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "glusterfs",
    "fuse.sshfs",
)
MIN_FREE, LOW_FREE = 256 * 2**20, 5 * 2**30
SLOW_FSYNC = 0.1
"""Duration of an fsync, in seconds, above which writes are noticeably slow."""
_TRIES = 5
_OTHER_DIRECTORY = "Choose a directory on a local disk with --data DIR or $TRAINCREW_DATA."


def nearest(path: pathlib.Path) -> pathlib.Path:
    """The path, or its nearest parent that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def check(data: pathlib.Path) -> Iterator[CheckResult]:
    existing = nearest(data)
    if not os.access(existing, os.W_OK | os.X_OK):
        yield fail("data", f"{existing} is not writable by this user", _OTHER_DIRECTORY)
        return
    yield _file_system(data, existing)
    yield _free_space(existing)
    try:
        yield _fsync_duration(existing)
    except OSError as error:
        yield fail("data", f"cannot write to {existing}: {error.strerror}", _OTHER_DIRECTORY)


def _file_system(data: pathlib.Path, existing: pathlib.Path) -> CheckResult:
    kind = file_system_of(existing, host_mounts.visible(host_mounts.read()))
    if kind in REMOTE_FILESYSTEMS:
        return fail(
            "data",
            f"{data} is on {kind}, where file locks and the write-ahead log of the database are not reliable",
            _OTHER_DIRECTORY,
        )
    if kind in ("tmpfs", "ramfs"):
        return warn("data", f"{data} is on {kind}: the data uses memory and is lost on reboot", _OTHER_DIRECTORY)
    return ok("data", f"{data} is on {kind}")


def file_system_of(path: pathlib.Path, mounts: tuple[host_mounts.HostMount, ...]) -> str:
    """The file system type of the innermost mount that contains the path."""
    above = [each for each in mounts if path.resolve().is_relative_to(each.path)]
    return max(above, key=lambda each: len(each.path)).kind if above else "an unknown file system"


def _free_space(existing: pathlib.Path) -> CheckResult:
    free = shutil.disk_usage(existing).free
    message = f"{byte_sizes.text(free, byte_sizes.MEASURED_MEMORY)} free"
    if free < MIN_FREE:
        return fail("disk", message, "Free disk space. On a full disk, writes fail and log lines are lost.")
    if free < LOW_FREE:
        return warn("disk", message, "Free disk space. Logs alone may use 1 GiB (--log-bytes).")
    return ok("disk", message)


def _fsync_duration(existing: pathlib.Path) -> CheckResult:
    durations = []
    with tempfile.TemporaryFile(dir=existing) as file:
        for _ in range(_TRIES):
            file.write(b"x" * 4096)
            file.flush()
            before = time.perf_counter()
            os.fsync(file.fileno())
            durations.append(time.perf_counter() - before)
    message = f"an fsync takes {statistics.median(durations) * 1000:.1f} ms"
    if statistics.median(durations) > SLOW_FSYNC:
        return warn("fsync", message, f"Every write to the database waits for fsync. {_OTHER_DIRECTORY}")
    return ok("fsync", message)
