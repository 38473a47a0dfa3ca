"""The exec socket of a pod: a client with a ticket runs one command in one container."""

from __future__ import annotations

import os
import time
from _operator import _compare_digest

from traincrew.embedded.kubelet.runtime import errors, spec


def directory(pod: spec.Pod) -> str:
    """The directory of the exec sockets of all pods, mounted read-only into containers.

    Shims of earlier releases allow a mount of `node/doors` only, so the directory keeps that name on the disk.
    """
    return os.path.normpath(os.path.join(pod.directory, "../../doors"))


def name(pod: spec.Pod) -> str:
    return f"{pod.uid}.sock"


class ExecTickets:
    def __init__(self) -> None:
        self._issued: list[tuple[bytes, str, float]] = []

    def issue(self, secret: str, container: str, seconds: float) -> None:
        self._drop_expired()
        self._issued.append((secret.encode(), container, time.monotonic() + seconds))

    def redeem(self, secret: str) -> str:
        """The container that the ticket is for. A ticket is valid once."""
        self._drop_expired()
        given = secret.encode()
        for ticket in self._issued:
            if _compare_digest(ticket[0], given):
                self._issued.remove(ticket)
                return ticket[1]
        raise errors.OperationFailed("Forbidden", "the ticket is not valid: it is unknown, was used before, or has expired")

    def _drop_expired(self) -> None:
        now = time.monotonic()
        self._issued = [ticket for ticket in self._issued if ticket[2] > now]
