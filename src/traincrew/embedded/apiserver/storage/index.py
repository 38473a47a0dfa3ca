"""The index: the durable state in memory, sorted by key."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from traincrew.embedded.apiserver.storage.records import Key, Record, sort_key


class ResourceIndex:
    """The records of one resource, with sorted keys."""

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
        self._order = sorted(self._records, key=sort_key)

    def set(self, record: Record) -> None:
        if record.key not in self._records:
            insort(self._order, record.key, key=sort_key)
        self._records[record.key] = record

    def remove(self, key: Key) -> None:
        del self._records[key]
        del self._order[bisect_left(self._order, sort_key(key), key=sort_key)]

    def list(self, namespace: str) -> list[Record]:
        order = self._order
        if namespace and order:
            # '0' follows '/': the two ends of a namespace's paths.
            first = bisect_left(order, (namespace + "/", ""), key=sort_key)
            order = order[first : bisect_left(order, (namespace + "0", ""), first, key=sort_key)]
        return [*map(self._records.__getitem__, order)]


class ObjectIndex:
    def __init__(self, records: Iterable[Record]) -> None:
        self._index: dict[str, ResourceIndex] = {}
        sorted_out: dict[str, list[Record]] = {}
        for record in records:
            sorted_out.setdefault(record.key.resource, []).append(record)
        for resource, of_resource in sorted_out.items():
            self.of(resource).fill(of_resource)

    def of(self, resource: str) -> ResourceIndex:
        index = self._index.get(resource)
        if index is None:
            index = self._index[resource] = ResourceIndex()
        return index

    def resources(self) -> Iterator[str]:
        return (resource for resource, index in self._index.items() if len(index))
