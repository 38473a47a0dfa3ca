"""Replaces secret values in the logs of a pod that is being removed. Later, nobody knows the values any more."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime as dt
import mmap
import os
import pathlib
from collections.abc import Iterable, Iterator

import msgspec
import re2

from traincrew.apimachinery import redaction
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.logs import cri_format, kept_pod

MAX_VALUES = 1000
MAX_BYTES = 256 << 10
"""Of the secret values of a pod, and of their lines. The logs of a pod with more are removed."""
MAX_COMPARISONS = 300_000
"""Of a place in one file with a value that begins like it. A log with more is removed."""
THREAD = concurrent.futures.ThreadPoolExecutor(1, "secret-values")
"""Of its own: logs may be large, and the other threads of the daemon must stay free."""
_MEMORY = 64 << 20
"""For the automaton of RE2: enough for the first bytes of all values."""


class TooManyOccurrences(Exception):
    pass


def replace(directory: pathlib.Path, pod: Object) -> None:
    """directory: of the logs of the pod. What `redaction` removes from the object is not in the logs, either."""
    kept = kept_pod.read(directory)
    if kept.secrets_replaced or not directory.exists():
        return
    # A line of a log contains no whole value of several lines, but each of its lines.
    values = [each.encode() for each in redaction.secret_values(pod) if "\n" not in each]
    search = _Search(values) if values and _are_few(values) else None
    for path in directory.glob("*/*.log*") if values else ():
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            _replace_or_remove(file.fileno(), search)
    kept_pod.write(directory, msgspec.structs.replace(kept, secrets_replaced=True))


def _are_few(values: list[bytes]) -> bool:
    return len(values) <= MAX_VALUES and sum(map(len, values)) <= MAX_BYTES


def _replace_or_remove(file: int, search: _Search | None) -> None:
    if search is None:
        _remove(file, f"its pod had more than {MAX_VALUES} secret values")
        return
    try:
        _replace(file, search)
    except TooManyOccurrences:
        _remove(file, "secret values occurred in it too often")


def _replace(file: int, search: _Search) -> None:
    """In place and without a change of its size: whoever reads the file goes on. Raises TooManyOccurrences."""
    if os.fstat(file).st_size == 0:
        return
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as content:
        for position, length in search.occurrences(content):
            os.pwrite(file, substitute(length), position)


def _remove(file: int, reason: str) -> None:
    """Leaves one line that says so."""
    stamp = cri_format.timestamp(dt.datetime.fromtimestamp(os.fstat(file).st_mtime, dt.UTC))
    os.ftruncate(file, 0)
    os.pwrite(file, b"%s stdout F traincrew: this log was removed: %s\n" % (stamp, reason.encode()), 0)


def substitute(length: int) -> bytes:
    return redaction.REDACTED.encode().ljust(length, b"*") if length >= len(redaction.REDACTED) else b"*" * length


class _Search:
    """Finds all values in one pass: RE2 finds their first bytes, and its automaton stays small."""

    def __init__(self, values: Iterable[bytes]) -> None:
        self._by_start: dict[bytes, list[bytes]] = {}
        for value in sorted(values, key=len, reverse=True):
            self._by_start.setdefault(value[: redaction.MIN_SECRET], []).append(value)
        options = re2.Options()
        options.encoding, options.max_mem = re2.Options.Encoding.LATIN1, _MEMORY
        options.never_capture, options.log_errors = True, False
        self._starts = re2.compile(b"|".join(map(re2.escape, self._by_start)), options)
        re2.purge()  # the library's own cache would keep the values

    def occurrences(self, content: mmap.mmap) -> Iterator[tuple[int, int]]:
        """Position and length, of the longest value at each position. Raises TooManyOccurrences."""
        position, left = 0, MAX_COMPARISONS
        while (found := self._starts.search(content, position)) is not None:
            position = found.start()
            length = 0
            for value in self._by_start[content[position : position + redaction.MIN_SECRET]]:
                left -= 1
                if content[position : position + len(value)] == value:
                    length = len(value)
                    yield position, length
                    break
            if left < 0:
                raise TooManyOccurrences
            position += length or 1
