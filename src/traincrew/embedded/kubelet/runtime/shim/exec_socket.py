"""The exec socket of a pod: a client with a ticket runs one command in one container."""

from __future__ import annotations

import os
import resource
import time
from _operator import _compare_digest

from traincrew.embedded.kubelet.runtime import errors, spec
from traincrew.embedded.kubelet.runtime.shim.listener import ListenerLimits

LINE_BYTES = 4 << 20
"""The arguments and the environment of a command have 2 MiB at most."""
_STREAMS = 3
_WAITING, _WAITING_OF_POD = 256, 64
"""Clients send their request at once, but on a busy machine a launcher may start many commands before one of them runs."""


def directory(node: str) -> str:
    """The directory of the exec sockets of all pods, mounted read-only into containers. node: the directory of the node.

    Shims of earlier releases mount the directory with the former name only. While one of them runs, all pods use that name.
    """
    former = os.path.join(node, spec.FORMER_EXEC_SOCKETS)
    return former if os.path.isdir(former) else os.path.join(node, spec.EXEC_SOCKETS)


def path(pod_directory: str) -> str:
    """The exec socket of a pod."""
    directory_of_pods, uid = os.path.split(os.path.normpath(pod_directory))
    return os.path.join(directory(os.path.dirname(directory_of_pods)), f"{uid}.sock")


def limits() -> ListenerLimits:
    """Every container of the cluster can connect. Without a ticket it gets no further than the connections that wait.

    A command needs few descriptors: its connection, two sockets to its process and, while it starts, its cgroups.
    """
    available, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(64, min(4096, available // 16))
    waiting, waiting_of_pod = min(_WAITING, most // 2), min(_WAITING_OF_POD, most // 4)
    return ListenerLimits(
        most, LINE_BYTES, 4 * LINE_BYTES, waiting=waiting, waiting_of_client=waiting_of_pod, descriptors=_STREAMS
    )


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
