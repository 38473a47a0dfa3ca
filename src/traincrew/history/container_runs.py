"""Which logs a pod has: its containers with the number of their last run (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import redaction
from traincrew.kinds import KINDS


class LoggedRun(NamedTuple):
    number: int
    """Restarts before this run; -1: the container has not started."""
    over: bool


class LoggedPod(NamedTuple):
    namespace: str
    name: str
    uid: str
    runs: Mapping[str, LoggedRun]
    """By container, without those that the operator adds to wait for others."""
    finished: bool
    secrets: tuple[bytes, ...]
    """Values of secret variables, which are not recorded where the container prints them."""


def read(text: bytes) -> LoggedPod:
    document: dict[str, Any] = msgspec.json.decode(text)
    metadata, status = document["metadata"], document.get("status") or {}
    added = {name for kind in KINDS for name in kind.wait_containers}
    return LoggedPod(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        {each["name"]: _run(each) for each in _statuses(status) if each["name"] not in added},
        status.get("phase") in ("Succeeded", "Failed"),
        tuple(each.encode() for each in redaction.secret_values(document)),
    )


def _statuses(status: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def _run(status: dict[str, Any]) -> LoggedRun:
    """While a container waits for its restart, the last run is over."""
    count, state = int(status.get("restartCount") or 0), status.get("state") or {}
    if state.get("running"):
        return LoggedRun(count, over=False)
    if state.get("terminated") or (status.get("lastState") or {}).get("terminated"):
        return LoggedRun(count, over=True)
    return LoggedRun(-1, over=False)
