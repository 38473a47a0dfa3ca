"""The phase that follows from the statuses of a pod's containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.lifecycle.pod import Role, Subject

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
Statuses = Mapping[str, Mapping[str, Any]]


def phase(subject: Subject, statuses: Statuses, over: bool) -> str:
    """over: nothing will be started any more, whatever the restart policy says."""
    begun = _Initialization(subject, statuses)
    tally = _Tally(subject, statuses)
    if begun.failed and subject.restart_policy == "Never":
        return FAILED
    if begun.pending or (begun.sidecars_pending and not any_main_started(subject, statuses)) or tally.waiting:
        return PENDING
    if tally.unknown:
        return PENDING
    if tally.running:
        return RUNNING
    if not tally.stopped:
        return PENDING
    return _ended(subject, tally, over)


def _ended(subject: Subject, tally: _Tally, over: bool) -> str:
    succeeded = tally.stopped == tally.succeeded
    if over:
        return SUCCEEDED if succeeded else FAILED
    if subject.restart_policy == "Always":
        return RUNNING
    if succeeded:
        return SUCCEEDED
    return FAILED if subject.restart_policy == "Never" else RUNNING


def any_main_started(subject: Subject, statuses: Statuses) -> bool:
    states = (_state(statuses, part.name) for part in subject.mains)
    return any("running" in state or "terminated" in state for state in states)


def _state(statuses: Statuses, name: str) -> Mapping[str, Any]:
    return (statuses.get(name) or {}).get("state") or {}


def _last(statuses: Statuses, name: str) -> Mapping[str, Any] | None:
    return ((statuses.get(name) or {}).get("lastState") or {}).get("terminated")


class _Initialization:
    def __init__(self, subject: Subject, statuses: Statuses) -> None:
        self.pending = self.failed = self.sidecars_pending = False
        for part in subject.inits:
            if part.role is Role.SIDECAR:
                self._sidecar(statuses, part.name)
            else:
                self._regular(statuses, part.name)

    def _regular(self, statuses: Statuses, name: str) -> None:
        state = _state(statuses, name)
        end = state.get("terminated")
        if "waiting" in state:
            end = _last(statuses, name)
        if end is None:
            self.pending = True
        elif end["exitCode"] != 0:
            self.failed = True

    def _sidecar(self, statuses: Statuses, name: str) -> None:
        state = _state(statuses, name)
        if "running" in state:
            self.sidecars_pending |= not statuses[name].get("started")
        elif name in statuses and "terminated" not in state and _last(statuses, name) is None:
            self.sidecars_pending = True


class _Tally:
    def __init__(self, subject: Subject, statuses: Statuses) -> None:
        self.unknown = self.running = self.waiting = self.stopped = self.succeeded = 0
        for part in (*subject.sidecars, *subject.mains):
            self._count(statuses, part.name, part.role is Role.MAIN)

    def _count(self, statuses: Statuses, name: str, main: bool) -> None:
        state = _state(statuses, name)
        if "running" in state:
            self.running += 1
        elif "terminated" in state:
            self.stopped += main
            self.succeeded += main and state["terminated"]["exitCode"] == 0
        elif "waiting" in state:
            restarting = _last(statuses, name) is not None
            self.stopped += main and restarting
            self.waiting += not restarting
        else:
            self.unknown += 1
