"""Lists at an earlier revision: all pages of a paginated list are of one revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traincrew.embedded.apiserver.storage.records import Key, Record, sort_key

MAX_SNAPSHOTS = 4


class ListSnapshots:
    """A cache of the most recently rebuilt lists."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], Sequence[Record]] = {}

    def find(self, resource: str, namespace: str, revision: int) -> Sequence[Record] | None:
        return self._kept.get((resource, namespace, revision))

    def add(self, resource: str, namespace: str, revision: int, records: list[Record]) -> list[Record]:
        if len(self._kept) == MAX_SNAPSHOTS:
            del self._kept[next(iter(self._kept))]
        self._kept[resource, namespace, revision] = tuple(records)
        return records

    def forget(self, before: int) -> None:
        self._kept = {key: records for key, records in self._kept.items() if key[2] >= before}


def rebuild(now: Sequence[Record], before: Mapping[Key, Record | None]) -> list[Record]:
    """The current list, with every object that changed since replaced by its earlier state."""
    records = [record for record in now if record.key not in before]
    records += filter(None, before.values())
    return sorted(records, key=lambda record: sort_key(record.key))
