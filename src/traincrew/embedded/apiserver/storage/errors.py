"""Errors of the store. The handlers translate each into the Status of a Kubernetes API server."""

from __future__ import annotations

from traincrew.embedded.apiserver.storage.records import Record


class RevisionConflict(Exception):
    """The object is not at the expected revision. `current` is None if the object does not exist."""

    def __init__(self, current: Record | None) -> None:
        super().__init__(f"the object is at revision {current.revision}" if current else "the object does not exist")
        self.current = current


class RevisionCompacted(Exception):
    """History before `compacted` was removed: the client must list again."""

    def __init__(self, requested: int, compacted: int) -> None:
        super().__init__(f"revision {requested} was compacted: history begins at {compacted}")
        self.asked, self.compacted = requested, compacted


class RevisionTooNew(Exception):
    """The store has not reached that revision."""

    def __init__(self, requested: int, revision: int) -> None:
        super().__init__(f"revision {requested} is in the future: the newest is {revision}")
        self.asked, self.revision = requested, revision


class ObjectTooLarge(Exception):
    """The object has more bytes than the store accepts."""


class WatchTooSlow(Exception):
    """A watch was read too slowly: its next change is no longer in memory."""


class StoreUnavailable(Exception):
    """The store cannot be written (or read) now. The message names the file and the reason.

    The write is not visible. If the process dies before the next write, it may still turn out to be durable.
    """
