"""Our own writes while they are in flight, to distinguish their changes from those of other clients."""

from __future__ import annotations

import dataclasses
from typing import Generic, TypeVar

from traincrew.model import meta

T = TypeVar("T", bound=meta.Named)


@dataclasses.dataclass(frozen=True)
class StoreChange(Generic[T]):
    old: T | None
    new: T | None
    listed: bool


class PendingWrite(Generic[T]):
    """Our writes to one object that are in flight, and the changes that the watch has delivered meanwhile."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.changes: list[StoreChange[T]] = []
        self.responses: set[tuple[str, str]] = set()
        """UID and version of the responses; without a version: the object is deleted."""

    def is_own(self, change: StoreChange[T]) -> bool:
        if change.new is None:
            return change.old is not None and (change.old.metadata.uid, "") in self.responses
        if change.listed or change.new is change.old:
            return False
        return (change.new.metadata.uid, change.new.metadata.resource_version) in self.responses
