"""Runs all checks."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew import errors
from traincrew.cli.doctor import egress, isolation, leftovers, programs, storage
from traincrew.cli.doctor.check_result import CheckResult, Grade, fail
from traincrew.embedded import data_directory


def run(directory: data_directory.DataDirectory) -> Iterator[CheckResult]:
    """Yield each result as soon as its check is done."""
    stored = list(storage.check(directory.data))
    yield from stored
    if all(each.grade is not Grade.FAIL for each in stored):
        yield from isolation.check(storage.nearest(directory.data))
    yield egress.check()
    try:
        yield from programs.check(directory)
    except errors.NotRunning as error:
        yield fail("data", str(error), "Choose another directory with --data DIR.")
    yield from dict.fromkeys(leftovers.check(directory.data))  # several mounts of a pod give the same result
