"""The durable state in memory, in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from traincrew.embedded.apiserver.storage.records import Key, Record, place


class Shelf:
    """The records of one resource. Keys are kept sorted, so that a list is a walk."""

    __slots__ = ("_order", "_records")

    def __init__(self) -> None:
        self._records: dict[Key, Record] = {}
        self._order: list[Key] = []

    def __len__(self) -> int:
        return len(self._order)

    def get(self, key: Key) -> Record | None:
        return self._records.get(key)

    def fill(self, records: Iterable[Record]) -> None:
        for record in records:
            self._records[record.key] = record
        self._order = sorted(self._records, key=place)

    def set(self, record: Record) -> None:
        if record.key not in self._records:
            insort(self._order, record.key, key=place)
        self._records[record.key] = record

    def remove(self, key: Key) -> None:
        del self._records[key]
        del self._order[bisect_left(self._order, place(key), key=place)]

    def list(self, namespace: str) -> list[Record]:
        order = self._order
        if namespace and order:
            # '0' follows '/': the two ends of a namespace's paths.
            first = bisect_left(order, (namespace + "/", ""), key=place)
            order = order[first : bisect_left(order, (namespace + "0", ""), first, key=place)]
        return [*map(self._records.__getitem__, order)]


class Shelves:
    def __init__(self, records: Iterable[Record]) -> None:
        self._shelves: dict[str, Shelf] = {}
        sorted_out: dict[str, list[Record]] = {}
        for record in records:
            sorted_out.setdefault(record.key.resource, []).append(record)
        for resource, of_resource in sorted_out.items():
            self.of(resource).fill(of_resource)

    def of(self, resource: str) -> Shelf:
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = Shelf()
        return shelf

    def resources(self) -> Iterator[str]:
        return (resource for resource, shelf in self._shelves.items() if len(shelf))
