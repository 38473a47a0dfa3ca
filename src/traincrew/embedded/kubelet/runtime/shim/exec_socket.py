"""The pod's second door, for whoever shows a ticket: a command in one container, once."""

from __future__ import annotations

import os
import time
from _operator import _compare_digest

from traincrew.embedded.kubelet.runtime import spec
from traincrew.embedded.kubelet.runtime.container import launch


def directory(pod: spec.Pod) -> str:
    """Where the doors of all pods are: to be bound, read-only, into the pods that may want to knock."""
    return os.path.normpath(os.path.join(pod.directory, "../../doors"))


def name(pod: spec.Pod) -> str:
    return f"{pod.uid}.sock"


class ExecTickets:
    def __init__(self) -> None:
        self._issued: list[tuple[bytes, str, float]] = []

    def issue(self, secret: str, container: str, seconds: float) -> None:
        self._drop_old()
        self._issued.append((secret.encode(), container, time.monotonic() + seconds))

    def redeem(self, secret: str) -> str:
        """The container that it opens. It is worth nothing afterwards."""
        self._drop_old()
        shown = secret.encode()
        for ticket in self._issued:
            if _compare_digest(ticket[0], shown):
                self._issued.remove(ticket)
                return ticket[1]
        raise launch.Refused("Forbidden", "this ticket is not valid: unknown, used before or too old")

    def _drop_old(self) -> None:
        now = time.monotonic()
        self._issued = [ticket for ticket in self._issued if ticket[2] > now]
