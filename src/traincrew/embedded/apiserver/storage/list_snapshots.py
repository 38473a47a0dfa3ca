"""Lists as they were. The pages of a long list are asked for one after the other, and all of them are of one revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traincrew.embedded.apiserver.storage.records import Key, Record, place

KEPT = 4


class Snapshots:
    """The lists that were rebuilt last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], Sequence[Record]] = {}

    def find(self, resource: str, namespace: str, revision: int) -> Sequence[Record] | None:
        return self._kept.get((resource, namespace, revision))

    def add(self, resource: str, namespace: str, revision: int, records: list[Record]) -> list[Record]:
        if len(self._kept) == KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[resource, namespace, revision] = tuple(records)
        return records

    def forget(self, before: int) -> None:
        self._kept = {key: records for key, records in self._kept.items() if key[2] >= before}


def rebuilt(now: Sequence[Record], before: Mapping[Key, Record | None]) -> list[Record]:
    """The list now, with everything that has changed since as it was before."""
    records = [record for record in now if record.key not in before]
    records += filter(None, before.values())
    return sorted(records, key=lambda record: place(record.key))
