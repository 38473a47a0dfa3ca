"""Limits the connections of pods to a server of the kubelet: no pod keeps others from connecting."""

from __future__ import annotations

import resource
from typing import Generic, Protocol, TypeVar

_DESCRIPTORS = 8
"""One in so many descriptors of this process may be used for a connection. Each needs three, on its way to the API server."""
_OF_CLIENT = 1024


class LimitedConnection(Protocol):
    def abort(self) -> None:
        """Closes the connection at once."""


C = TypeVar("C", bound=LimitedConnection)


class ConnectionLimits(Generic[C]):
    def __init__(self, total: int, of_client: int) -> None:
        self._total, self._of_client = total, of_client
        self._open: dict[str, list[C]] = {}

    @classmethod
    def of_process(cls) -> ConnectionLimits[C]:
        available, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        total = max(_DESCRIPTORS, available // _DESCRIPTORS)
        return cls(total, min(_OF_CLIENT, total))

    def add(self, client: str, connection: C) -> bool:
        """Returns whether the connection is admitted. If there are too many, the client with the most loses its oldest one."""
        own = self._open.get(client, [])
        if len(own) >= self._of_client:
            return False
        if sum(map(len, self._open.values())) >= self._total:
            largest = max(self._open.values(), key=len)
            if largest is own:
                return False
            largest.pop(0).abort()
        self._open.setdefault(client, []).append(connection)
        return True

    def remove(self, client: str, connection: C) -> None:
        own = self._open.get(client, [])
        if connection in own:
            own.remove(connection)
        if not own:
            self._open.pop(client, None)
