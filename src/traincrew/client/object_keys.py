"""What a job is called inside the operator."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    plural: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.plural}/{self.namespace}/{self.name}"
