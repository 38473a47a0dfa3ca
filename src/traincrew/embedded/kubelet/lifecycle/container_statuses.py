"""The statuses of a pod's containers, in the order of its spec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traincrew.embedded.kubelet.lifecycle import attempts, container_states, probes
from traincrew.embedded.kubelet.lifecycle.agenda import Case
from traincrew.embedded.kubelet.lifecycle.facts import Environment
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role

Status = dict[str, Any]

_ALL_MESSAGES = 12 * 1024
"""Bytes that the termination messages of a pod may take together."""


def of_parts(case: Case, parts: Iterable[Part]) -> list[Status]:
    return [_status(case, part) for part in parts]


def _status(case: Case, part: Part) -> Status:
    known, api = case.of(part), case.subject.known.get(part.name) or {}
    state, last, attempt = container_states.shown(case, part)
    resolved = known.environment.image_id if isinstance(known.environment, Environment) else ""
    found: Status = {
        "name": part.name,
        "state": _cut(case, state),
        "lastState": _cut(case, last),
        "ready": _ready(case, part, state),
        "restartCount": max(attempt or 0, int(api.get("restartCount") or 0)),
        "image": part.image,
        "imageID": resolved or api.get("imageID") or "",
    }
    if attempt is not None:
        found["containerID"] = case.subject.container_id(part.name, attempt)
    elif api.get("containerID"):
        found["containerID"] = api["containerID"]
    found["started"] = "running" in state and attempts.has_begun(case.subject, part, known)
    if part.spec.get("volumeMounts"):
        found["volumeMounts"] = [_mount(each) for each in part.spec["volumeMounts"]]
    return found


def _ready(case: Case, part: Part, state: container_states.State) -> bool:
    if part.role is Role.INIT:
        return bool((state.get("terminated") or {}).get("exitCode", 1) == 0)
    known = case.of(part)
    if "running" not in state or not attempts.has_begun(case.subject, part, known):
        return False
    return probes.ready(part, known, attempts.of_api(case.subject, part, known, "ready"))


def _mount(asked: dict[str, Any]) -> dict[str, Any]:
    found = {"name": asked.get("name"), "mountPath": asked.get("mountPath")}
    if asked.get("readOnly"):
        recursive = "Enabled" if asked.get("recursiveReadOnly") == "Enabled" else "Disabled"
        found |= {"readOnly": True, "recursiveReadOnly": recursive}
    return found


def _cut(case: Case, state: container_states.State) -> container_states.State:
    ended = state.get("terminated") or {}
    room = _ALL_MESSAGES // max(len(case.subject.parts), 1)
    raw = str(ended.get("message") or "").encode()
    if len(raw) <= room:
        return state
    return {"terminated": {**ended, "message": raw[:room].decode(errors="ignore")}}


def closed(case: Case, inits: list[Status], mains: list[Status]) -> None:
    """Of a pod that is over: whatever was begun and cannot be accounted for counts as failed."""
    if _was_initialized(case, inits, mains):
        _close(mains)
    touched = [index for index, status in enumerate(inits) if not _untouched(status)]
    _close(inits[: (touched[-1] if touched else 0) + 1])


def _untouched(status: Status) -> bool:
    return "waiting" in status["state"] and "terminated" not in status["lastState"]


def _was_initialized(case: Case, inits: list[Status], mains: list[Status]) -> bool:
    if not inits or any(not _untouched(status) for status in mains):
        return True
    final, status = case.subject.inits[-1], inits[-1]
    if final.role is Role.SIDECAR:
        return "running" in status["state"] and bool(status["started"])
    ends = (status["state"].get("terminated"), status["lastState"].get("terminated"))
    return any(end is not None and end["exitCode"] == 0 for end in ends)


def _close(found: list[Status]) -> None:
    for status in found:
        if "terminated" not in status["state"]:
            status |= {"state": container_states.unlocated(), "ready": False, "started": False}
