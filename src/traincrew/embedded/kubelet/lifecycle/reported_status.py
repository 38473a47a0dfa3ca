"""Completes the observed state of a pod with the container statuses that the API server holds."""

from __future__ import annotations

import dataclasses

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.observed import (
    REBOOTED,
    Exited,
    ExitStatus,
    ObservedContainer,
    ObservedPod,
    Running,
    SandboxGone,
    StartFailure,
    Starting,
)
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, Pod


def merge(pod: Pod, observed: ObservedPod) -> ObservedPod:
    """Without a sandbox no container runs: a container that is still observed or reported as running is lost.

    An exit whose record is missing is restored from the reported status.
    """
    if observed.rebooted and not (isinstance(observed.sandbox, SandboxGone) and observed.sandbox.reason == REBOOTED):
        observed = dataclasses.replace(observed, sandbox=SandboxGone(REBOOTED))
    merged = {each.name: _reported_exit(pod, each, observed.container(each.name)) for each in pod.all_containers}
    if isinstance(observed.sandbox, SandboxGone):
        merged = {each.name: _without_sandbox(pod, each, merged[each.name]) for each in pod.all_containers}
    incomplete = [name for name, current in merged.items() if isinstance(current.state, Exited) and current.state.status is None]
    for name in incomplete:
        merged[name] = _restored_exit(pod, name, merged[name])
    if not incomplete and not isinstance(observed.sandbox, SandboxGone):
        return observed
    return dataclasses.replace(observed, containers={**observed.containers, **merged})


def _reported_exit(pod: Pod, container: ContainerSpec, current: ObservedContainer) -> ObservedContainer:
    """Finalizers may keep a pod object after the pod's directory was removed: then only the reported status has the exit."""
    api = pod.reported_statuses.get(container.name) or {}
    attempt, terminated = int(api.get("restartCount") or 0), (api.get("state") or {}).get("terminated") or {}
    if current.state is not None or terminated.get("containerID") != pod.container_id(container.name, attempt):
        return current
    return dataclasses.replace(current, state=Exited(attempt, None))


def _without_sandbox(pod: Pod, container: ContainerSpec, current: ObservedContainer) -> ObservedContainer:
    if isinstance(current.state, Starting | Running):
        stop_reason = current.stopping.reason if current.stopping is not None else ""
        return dataclasses.replace(current, state=Exited(current.state.attempt, None, stop_reason))
    api = pod.reported_statuses.get(container.name) or {}
    if current.state is None and (api.get("state") or {}).get("running"):
        return dataclasses.replace(current, state=Exited(int(api.get("restartCount") or 0), None))
    return current


def _restored_exit(pod: Pod, name: str, current: ObservedContainer) -> ObservedContainer:
    api, exited = pod.reported_statuses.get(name) or {}, current.state
    assert isinstance(exited, Exited)
    for state in (api.get("state"), api.get("lastState")):
        terminated = (state or {}).get("terminated") or {}
        if terminated.get("containerID") != pod.container_id(name, exited.attempt):
            continue
        started, finished = times.parse_optional(terminated.get("startedAt")), times.parse_optional(terminated.get("finishedAt"))
        message, reason = terminated.get("message") or "", terminated.get("reason")
        if reason == "StartError" and finished is not None:
            return dataclasses.replace(current, state=StartFailure(exited.attempt, "StartError", message, finished))
        code, signal = int(terminated["exitCode"]), int(terminated.get("signal") or 0)
        status = ExitStatus(code, signal, reason == "OOMKilled", started, finished, message)
        return dataclasses.replace(current, state=dataclasses.replace(exited, status=status, log_tail=""))
    return current
