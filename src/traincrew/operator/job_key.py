"""The key of a job in the operator's work queue."""

from __future__ import annotations

from typing import NamedTuple


class JobQueueKey(NamedTuple):
    plural: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.plural}/{self.namespace}/{self.name}"
