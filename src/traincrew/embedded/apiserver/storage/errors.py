"""Why the store refuses: the caller turns each into the answer that Kubernetes gives."""

from __future__ import annotations

from traincrew.embedded.apiserver.storage.records import Record


class Stale(Exception):
    """The head is not what the write was meant for. `current` is None where there is no such object."""

    def __init__(self, current: Record | None) -> None:
        super().__init__(f"the object is at revision {current.revision}" if current else "there is no such object")
        self.current = current


class Expired(Exception):
    """History before `compacted` is gone: list again."""

    def __init__(self, asked: int, compacted: int) -> None:
        super().__init__(f"revision {asked} is gone: history begins at {compacted}")
        self.asked, self.compacted = asked, compacted


class TooNew(Exception):
    """That revision is still to come."""

    def __init__(self, asked: int, revision: int) -> None:
        super().__init__(f"revision {asked} is still to come: the newest is {revision}")
        self.asked, self.revision = asked, revision


class Overrun(Exception):
    """A feed was read too slowly, and what comes next for it is no longer in memory."""


class StoreUnavailable(Exception):
    """Nothing can be written (or read) just now; the message says what and where.

    The write is not visible. Only if the process dies before it could write anything else may it turn out to have been kept.
    """
