"""Taking a whole list into the local copy, while our own writes go on."""

from __future__ import annotations

from typing import Generic, TypeVar

from traincrew.client import store
from traincrew.model import meta

T = TypeVar("T", bound=meta.Named)


class Listing(Generic[T]):
    """One list, begun when this is made; what it leaves out has gone, but for what we wrote after it was made."""

    def __init__(self, copy: store.Store[T], namespace: str | None = None) -> None:
        self._copy, self._namespace = copy, namespace
        self._before = {held.metadata.uid for held in copy}
        self._seen: set[str] = set()

    def saw(self, shown: T) -> None:
        self._seen.add(shown.metadata.uid)
        self._copy.saw(shown, listed=True)

    def passed_over(self, uid: str) -> None:
        """The object is there, but cannot be taken in: it stays as it was known."""
        self._seen.add(uid)

    def end(self, version: str) -> None:
        for held in [each for each in self._copy if self._has_gone(each, version)]:
            key = (held.metadata.namespace, held.metadata.name)
            self._copy.saw_deleted(key, held.metadata.uid, version)
        self._copy.reached(self._namespace, version)

    def _has_gone(self, held: T, version: str) -> bool:
        if held.metadata.uid in self._seen or self._namespace not in (None, held.metadata.namespace):
            return False
        if meta.version_number(version):
            return not self._copy.newer_than(held, version)
        return held.metadata.uid in self._before
