"""Visits every entry, or every directory, of a directory tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from traincrew.embedded.file_trees.cursor import OPEN_FLAGS, TreeCursor

T = TypeVar("T")
Visit = Callable[[int, list[str]], Iterator[T]]
"""Gets an open directory, and a list to which it adds the names of the directories in it."""


class TreeEntry(NamedTuple):
    name: str
    directory: int
    """The open directory of the entry. It is valid until the next entry is requested."""
    is_directory: bool
    status: os.stat_result


def walk(path: str | os.PathLike[str]) -> Iterator[TreeEntry]:
    """Yields the entries below the directory. Directories that cannot be opened, and mounts, are not entered.

    Raises OSError if the path itself cannot be opened.
    """
    return _walk(path, _entries)


def directories(path: str | os.PathLike[str]) -> Iterator[int]:
    """Yields the directory itself and every directory below it, open until the next one is requested. Raises like `walk`."""
    return _walk(path, _itself)


def _walk(path: str | os.PathLike[str], visit: Visit[T]) -> Iterator[T]:
    top = os.open(path, OPEN_FLAGS)
    try:
        cursor = TreeCursor(top)
        try:
            yield from _descend(cursor, visit)
        finally:
            cursor.close()
    finally:
        os.close(top)


def _descend(cursor: TreeCursor, visit: Visit[T]) -> Iterator[T]:
    unvisited = [list[str]()]
    yield from visit(cursor.directory, unvisited[0])
    while unvisited[0] or cursor.depth:
        if not unvisited[-1]:
            cursor.leave()
            del unvisited[cursor.depth + 1 :]
            continue
        try:
            cursor.enter(unvisited[-1].pop())
        except OSError:
            continue
        unvisited.append([])
        yield from visit(cursor.directory, unvisited[-1])


def _entries(directory: int, inner: list[str]) -> Iterator[TreeEntry]:
    for entry in _scan(directory):
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # removed meanwhile
            continue
        is_directory = entry.is_dir(follow_symlinks=False)
        if is_directory:
            inner.append(entry.name)
        yield TreeEntry(entry.name, directory, is_directory, status)


def _itself(directory: int, inner: list[str]) -> Iterator[int]:
    yield directory
    inner += [entry.name for entry in _scan(directory) if entry.is_dir(follow_symlinks=False)]


def _scan(directory: int) -> Iterator[os.DirEntry[str]]:
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        yield from entries
