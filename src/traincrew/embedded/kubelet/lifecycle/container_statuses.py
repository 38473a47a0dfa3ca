"""The container statuses of a pod, in the order of its spec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traincrew.embedded.kubelet.lifecycle import attempts, container_states, probes
from traincrew.embedded.kubelet.lifecycle.observed import ResolvedImage
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType
from traincrew.embedded.kubelet.lifecycle.sync_context import SyncContext

Status = dict[str, Any]

_MESSAGES_LIMIT = 12 * 1024
"""Bytes, for the termination messages of a pod together."""


def of_containers(context: SyncContext, containers: Iterable[ContainerSpec]) -> list[Status]:
    return [_status(context, container) for container in containers]


def _status(context: SyncContext, container: ContainerSpec) -> Status:
    current, api = context.current(container), context.pod.reported_statuses.get(container.name) or {}
    state, last_state, attempt = container_states.of_container(context, container)
    resolved = current.image.image_id if isinstance(current.image, ResolvedImage) else ""
    status: Status = {
        "name": container.name,
        "state": _cut(context, state),
        "lastState": _cut(context, last_state),
        "ready": _ready(context, container, state),
        "restartCount": max(attempt or 0, int(api.get("restartCount") or 0)),
        "image": container.image,
        "imageID": resolved or api.get("imageID") or "",
    }
    if attempt is not None:
        status["containerID"] = context.pod.container_id(container.name, attempt)
    elif api.get("containerID"):
        status["containerID"] = api["containerID"]
    status["started"] = "running" in state and attempts.has_started(context.pod, container, current)
    if container.spec.get("volumeMounts"):
        status["volumeMounts"] = [_mount_status(each) for each in container.spec["volumeMounts"]]
    return status


def _ready(context: SyncContext, container: ContainerSpec, state: container_states.State) -> bool:
    if container.type is ContainerType.INIT:
        return bool((state.get("terminated") or {}).get("exitCode", 1) == 0)
    current = context.current(container)
    if "running" not in state or not attempts.has_started(context.pod, container, current):
        return False
    return probes.is_ready(container, current, attempts.reported(context.pod, container, current, "ready"))


def _mount_status(mount: dict[str, Any]) -> dict[str, Any]:
    status = {"name": mount.get("name"), "mountPath": mount.get("mountPath")}
    if mount.get("readOnly"):
        recursive = "Enabled" if mount.get("recursiveReadOnly") == "Enabled" else "Disabled"
        status |= {"readOnly": True, "recursiveReadOnly": recursive}
    return status


def _cut(context: SyncContext, state: container_states.State) -> container_states.State:
    terminated = state.get("terminated") or {}
    limit = _MESSAGES_LIMIT // max(len(context.pod.all_containers), 1)
    message = str(terminated.get("message") or "").encode()
    if len(message) <= limit:
        return state
    return {"terminated": {**terminated, "message": message[:limit].decode(errors="ignore")}}


def close_unfinished(context: SyncContext, init_containers: list[Status], containers: list[Status]) -> None:
    """For a terminated pod: a container that was started and has no known exit gets the state of an unknown exit."""
    if _was_initialized(context, init_containers, containers):
        _mark_unknown(containers)
    started = [index for index, status in enumerate(init_containers) if not _never_started(status)]
    _mark_unknown(init_containers[: (started[-1] if started else 0) + 1])


def _never_started(status: Status) -> bool:
    return "waiting" in status["state"] and "terminated" not in status["lastState"]


def _was_initialized(context: SyncContext, init_containers: list[Status], containers: list[Status]) -> bool:
    if not init_containers or any(not _never_started(status) for status in containers):
        return True
    final, status = context.pod.init_containers[-1], init_containers[-1]
    if final.type is ContainerType.SIDECAR:
        return "running" in status["state"] and bool(status["started"])
    exits = (status["state"].get("terminated"), status["lastState"].get("terminated"))
    return any(each is not None and each["exitCode"] == 0 for each in exits)


def _mark_unknown(statuses: list[Status]) -> None:
    for status in statuses:
        if "terminated" not in status["state"]:
            status |= {"state": container_states.unknown_exit(), "ready": False, "started": False}
