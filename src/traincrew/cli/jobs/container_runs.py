"""Which run of a container there is: a container that is restarted has one log for each. Pure."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.model import objects


class Run(NamedTuple):
    number: int
    """How often it was restarted before; -1: it has not started yet."""
    over: bool
    """Nothing more will come of it."""


NONE = Run(-1, False)
NEVER_RAN = ("StartError", "ContainerCannotRun")


def run(pod: objects.Pod, container: str) -> Run:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if status.name == container:
            return _run(status)
    return NONE


def _run(status: objects.ContainerStatus) -> Run:
    if status.state.terminated is not None:
        return Run(status.restart_count, True)
    if status.state.running is not None:
        return Run(status.restart_count, False)
    # While it waits to be started again, what there was is over.
    return Run(status.restart_count, True) if status.last_state.terminated is not None else NONE


def is_last(pod: objects.Pod, container: str) -> bool:
    """Whether no other run will follow."""
    return (pod.finished and run(pod, container).over) or (pod.finished and run(pod, container) == NONE)


def unstarted(pod: objects.Pod, container: str) -> str:
    """What became of a container that never ran, in a pod that has ended; empty if it ran, or still may."""
    status = next((each for each in pod.status.container_statuses if each.name == container), None)
    if status is None or not pod.finished or status.restart_count:
        return ""
    ended = status.state.terminated
    if ended is None:
        return f"container {container} was not started: the pod failed first" if run(pod, container) == NONE else ""
    return f"container {container} failed before it started: {ended.message}" if ended.reason in NEVER_RAN else ""
