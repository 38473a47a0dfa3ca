"""Transitions of the observed state: a step is started, a step has a result."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.embedded.kubelet.lifecycle import backoff, probes, steps
from traincrew.embedded.kubelet.lifecycle.observed import (
    HOOK_DONE,
    HOOK_RUNNING,
    CreatingSandbox,
    Exited,
    ExitStatus,
    HookName,
    MountFailure,
    MountingVolumes,
    ObservedContainer,
    ObservedPod,
    ProbeResults,
    ResolvedImage,
    Running,
    SandboxFailure,
    StartFailure,
    Starting,
    Stopping,
)
from traincrew.embedded.kubelet.lifecycle.pod import Object


def step_started(observed: ObservedPod, step: steps.Step, now: dt.datetime) -> ObservedPod:
    """Marks a step as in progress, before it is executed. ResolveImage, ReadLogTail and RemovePod leave no mark."""
    match step:
        case steps.MountVolumes():
            failures = observed.volumes.count if isinstance(observed.volumes, MountFailure) else 0
            return dataclasses.replace(observed, volumes=MountingVolumes(now, failures))
        case steps.CreateSandbox():
            failures = observed.sandbox.count if isinstance(observed.sandbox, SandboxFailure) else 0
            return dataclasses.replace(observed, sandbox=CreatingSandbox(now, failures))
        case steps.StopSandbox():
            return dataclasses.replace(observed, stopping_sandbox_since=now)
        case steps.ResolveImage() | steps.ReadLogTail() | steps.RemovePod():
            return observed
        case _:
            return _with_container(
                observed, step.container, _container_step_started(observed.container(step.container), step, now)
            )


def _container_step_started(
    current: ObservedContainer,
    step: steps.StartContainer | steps.RunHook | steps.TerminateContainer | steps.KillContainer | steps.RunProbe,
    now: dt.datetime,
) -> ObservedContainer:
    match step:
        case steps.StartContainer():
            return _start_started(current, step, now)
        case steps.RunHook(hook="postStart"):
            return dataclasses.replace(current, post_start=HOOK_RUNNING)
        case steps.RunHook():
            return dataclasses.replace(current, pre_stop=HOOK_RUNNING, stopping=Stopping(now, step.grace_period, step.reason))
        case steps.TerminateContainer():
            stopping = current.stopping or Stopping(now, step.grace_period, step.reason)
            return dataclasses.replace(current, stopping=dataclasses.replace(stopping, term_sent_at=now))
        case steps.KillContainer():
            stopping = current.stopping or Stopping(now, 0, "")
            return dataclasses.replace(current, stopping=dataclasses.replace(stopping, kill_sent_at=now))
        case steps.RunProbe():
            probe = dataclasses.replace(current.probes.get(step.kind, ProbeResults()), last_started_at=now, running_since=now)
            return dataclasses.replace(current, probes={**current.probes, step.kind: probe})


def _start_started(current: ObservedContainer, step: steps.StartContainer, now: dt.datetime) -> ObservedContainer:
    state, history = current.state, current.history
    if isinstance(state, Exited | StartFailure) and backoff.consumes_attempt(state):
        history = (state, *history[:1])
    previous = state if isinstance(state, StartFailure) else None
    return ObservedContainer(Starting(step.attempt, now, previous), history, current.image, backoff=step.backoff)


def container_started(observed: ObservedPod, name: str, at: dt.datetime) -> ObservedPod:
    current = observed.container(name)
    attempt = current.state.attempt if current.state is not None else 0
    return _with_container(observed, name, dataclasses.replace(current, state=Running(attempt, at)))


def start_failed(observed: ObservedPod, name: str, reason: str, message: str, at: dt.datetime) -> ObservedPod:

    current = observed.container(name)
    before = current.state.previous_failure if isinstance(current.state, Starting) else None
    attempt = current.state.attempt if current.state is not None else 0
    count = before.count + 1 if before is not None and not backoff.consumes_attempt(before) else 1
    return _with_container(observed, name, dataclasses.replace(current, state=StartFailure(attempt, reason, message, at, count)))


def container_exited(observed: ObservedPod, name: str, status: ExitStatus | None) -> ObservedPod:
    current = observed.container(name)
    attempt = current.state.attempt if current.state is not None else 0
    stop_reason = current.stopping.reason if current.stopping is not None else ""
    hook_error = current.post_start if current.post_start not in (None, HOOK_RUNNING, HOOK_DONE) else ""
    exited = Exited(attempt, status, stop_reason, post_start_error=hook_error or "")
    return _with_container(observed, name, dataclasses.replace(current, state=exited))


def log_tail_read(observed: ObservedPod, name: str, text: str) -> ObservedPod:
    current = observed.container(name)
    if not isinstance(current.state, Exited):
        return observed
    return _with_container(observed, name, dataclasses.replace(current, state=dataclasses.replace(current.state, log_tail=text)))


def image_resolved(observed: ObservedPod, name: str, image: ResolvedImage) -> ObservedPod:
    return _with_container(observed, name, dataclasses.replace(observed.container(name), image=image))


def image_pull_failed(observed: ObservedPod, name: str, reason: str, message: str, at: dt.datetime) -> ObservedPod:
    """reason: ErrImagePull, ErrImageNeverPull or InvalidImageName."""
    current = observed.container(name)
    count = current.image.count + 1 if isinstance(current.image, StartFailure) else 1
    return _with_container(observed, name, dataclasses.replace(current, image=StartFailure(0, reason, message, at, count)))


def hook_finished(observed: ObservedPod, name: str, hook: HookName, error: str = "") -> ObservedPod:
    current = observed.container(name)
    outcome = error or HOOK_DONE
    if hook == "postStart":
        return _with_container(observed, name, dataclasses.replace(current, post_start=outcome))
    return _with_container(observed, name, dataclasses.replace(current, pre_stop=outcome))


def probe_finished(
    observed: ObservedPod, step: steps.RunProbe, probe: Object, passed: bool | None, message: str = ""
) -> ObservedPod:
    """Ignores the result of a probe of an earlier attempt."""
    current = observed.container(step.container)
    if not isinstance(current.state, Running) or current.state.attempt != step.attempt:
        return observed
    result = probes.record(probe, current.probes.get(step.kind, ProbeResults()), passed, message)
    return _with_container(observed, step.container, dataclasses.replace(current, probes={**current.probes, step.kind: result}))


def mount_failed(observed: ObservedPod, reason: str, message: str, at: dt.datetime) -> ObservedPod:
    failures = observed.volumes.failures if isinstance(observed.volumes, MountingVolumes) else 0
    return dataclasses.replace(observed, volumes=MountFailure(reason, message, at, failures + 1))


def sandbox_failed(observed: ObservedPod, message: str, at: dt.datetime) -> ObservedPod:
    failures = observed.sandbox.failures if isinstance(observed.sandbox, CreatingSandbox) else 0
    return dataclasses.replace(observed, sandbox=SandboxFailure(message, at, failures + 1))


def _with_container(observed: ObservedPod, name: str, current: ObservedContainer) -> ObservedPod:
    return dataclasses.replace(observed, containers={**observed.containers, name: current})
