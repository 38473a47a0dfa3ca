"""Runs of a container: each restart begins a new run with its own log. Pure."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.model import objects


class ContainerAttempt(NamedTuple):
    number: int
    """Number of restarts before this run; -1: not started yet."""
    over: bool
    """Whether the run has terminated."""


NONE = ContainerAttempt(-1, False)
NEVER_RAN = ("StartError", "ContainerCannotRun")


def run(pod: objects.Pod, container: str) -> ContainerAttempt:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if status.name == container:
            return _run(status)
    return NONE


def _run(status: objects.ContainerStatus) -> ContainerAttempt:
    if status.state.terminated is not None:
        return ContainerAttempt(status.restart_count, True)
    if status.state.running is not None:
        return ContainerAttempt(status.restart_count, False)
    # While the container waits for its restart, the last run is over.
    return ContainerAttempt(status.restart_count, True) if status.last_state.terminated is not None else NONE


def is_last(pod: objects.Pod, container: str) -> bool:
    """Whether no run will follow."""
    return (pod.finished and run(pod, container).over) or (pod.finished and run(pod, container) == NONE)


def never_ran(pod: objects.Pod, container: str) -> str:
    """Why a container of a finished pod never ran; empty if it ran or may still run."""
    status = next((each for each in pod.status.container_statuses if each.name == container), None)
    if status is None or not pod.finished or status.restart_count:
        return ""
    ended = status.state.terminated
    if ended is None:
        return f"container {container} was not started: the pod failed first" if run(pod, container) == NONE else ""
    return f"container {container} failed before it started: {ended.message}" if ended.reason in NEVER_RAN else ""
