"""Adopts the pods of a previous daemon: their shims, exit records and state directories."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from traincrew.apimachinery import times
from traincrew.client import clock
from traincrew.embedded.kubelet.lifecycle.observed import (
    LOST,
    REBOOTED,
    STOPPED,
    Exited,
    ExitStatus,
    ObservedContainer,
    ObservedPod,
    Running,
    SandboxGone,
    SandboxReady,
)
from traincrew.embedded.kubelet.lifecycle.termination import EVICTION
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod, containers
from traincrew.embedded.kubelet.pods.sandboxes import Sandboxes
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.runtime import runtime


async def adopt(pod: ManagedPod, sandboxes: Sandboxes) -> runtime.ShimClient | None:
    """Restores the observed state. Returns the shim if it runs. Raises OSError or ContainerRuntimeError: the pod lives."""
    record = pod.directory.sandbox()
    if record is None:
        return None
    pod.observed = dataclasses.replace(pod.observed, eviction=pod.directory.eviction())
    if record.boot_id != sandboxes.boot_id:
        await sandboxes.clean_up_lost(pod.directory)
        pod.observed = dataclasses.replace(_without_sandbox(pod, REBOOTED), rebooted=True)
        return None
    if pod.directory.sandbox_stopped():
        pod.observed = _without_sandbox(pod, STOPPED)
        return None
    created = _was_created(pod)
    try:
        shim = await sandboxes.reconnect(pod.directory, record)
    except runtime.ShimGone:
        # If the daemon died before the sandbox was created, the pod simply starts now.
        if created:
            pod.observed = _without_sandbox(pod, LOST)
        return None
    ready = SandboxReady(sandboxes.address(record), times.parse(record.created))
    try:
        running = await _containers(pod, shim)
    except BaseException:
        shim.close()
        raise
    pod.observed = dataclasses.replace(pod.observed, sandbox=ready, containers=running, adopted=True)
    return shim


def sandbox_lost(observed: ObservedPod, directory: PodStateDirectory) -> ObservedPod:
    """The shim is gone with all containers. A container without an exit record is lost."""
    after = {
        name: dataclasses.replace(current, state=_exited(directory, name, current.state.attempt))
        if isinstance(current.state, Running)
        else current
        for name, current in observed.containers.items()
    }
    return dataclasses.replace(observed, sandbox=SandboxGone(LOST, clock.now()), containers=after)


def read_exit_status(directory: PodStateDirectory, container: str, attempt: int) -> ExitStatus | None:
    record = runtime.read_exit(directory.path, container, attempt)
    if record is None:
        return None
    started, finished = times.parse_optional(record.started), times.parse_optional(record.finished)
    return ExitStatus(record.code, record.signal, record.oom, started, finished, record.message)


def _names(pod: ManagedPod) -> Iterable[str]:
    return (each["name"] for each in containers(pod.object))


def _was_created(pod: ManagedPod) -> bool:
    shim_started = (pod.directory.path / "shim.json").exists()
    return shim_started or any(pod.directory.attempts(name) for name in _names(pod))


def _without_sandbox(pod: ManagedPod, reason: str) -> ObservedPod:
    started = {name: attempts for name in _names(pod) if (attempts := pod.directory.attempts(name))}
    exited = {name: _exited_container(pod.directory, name, attempts) for name, attempts in started.items()}
    return dataclasses.replace(pod.observed, sandbox=SandboxGone(reason, clock.now()), containers=exited, adopted=True)


def _exited(directory: PodStateDirectory, name: str, attempt: int) -> Exited:
    status, evicted_at = read_exit_status(directory, name, attempt), directory.evicted_at()
    finished_at = status.finished if status is not None else None
    evicted = evicted_at is not None and (finished_at is None or finished_at >= evicted_at)
    return Exited(attempt, status, EVICTION if evicted else "")


def _exited_container(directory: PodStateDirectory, name: str, attempts: list[int]) -> ObservedContainer:
    states = [_exited(directory, name, attempt) for attempt in reversed(attempts)]
    return ObservedContainer(state=states[0], history=tuple(states[1:3]))


async def _containers(pod: ManagedPod, shim: runtime.ShimClient) -> dict[str, ObservedContainer]:
    statuses, observed = await shim.container_statuses(), {}
    for name in _names(pod):
        status = statuses.get(name)
        if status is None:
            continue
        earlier = [each for each in pod.directory.attempts(name) if each < status.attempt]
        current = _exited_container(pod.directory, name, [*earlier, status.attempt])
        if status.running:
            state = Running(status.attempt, status.started)
            post_start = pod.directory.post_start(name, status.attempt)
            current = ObservedContainer(state, current.history, post_start=post_start)
        observed[name] = current
    return observed
