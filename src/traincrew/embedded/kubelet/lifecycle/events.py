"""The events of a pod, with the messages of the kubelet."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.embedded.kubelet.lifecycle import attempts, backoff, image_pulls, termination
from traincrew.embedded.kubelet.lifecycle.observed import (
    PROBE_KINDS,
    Exited,
    MountFailure,
    ObservedContainer,
    ResolvedImage,
    Running,
    SandboxFailure,
    StartFailure,
)
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType
from traincrew.embedded.kubelet.lifecycle.steps import PodEvent
from traincrew.embedded.kubelet.lifecycle.sync_context import SyncContext

NORMAL, WARNING = "Normal", "Warning"


def current_events(context: SyncContext) -> tuple[PodEvent, ...]:
    """Every event that holds now. The caller drops those whose keys were recorded before."""
    if context.pod.is_terminal:
        return ()
    containers = context.pod.all_containers
    return (*_pod_events(context), *(event for each in containers for event in _container_events(context, each)))


def _pod_events(context: SyncContext) -> Iterator[PodEvent]:
    observed, failure = context.observed, context.termination.failure
    if isinstance(observed.volumes, MountFailure):
        key = f"{observed.volumes.reason}/{observed.volumes.at.isoformat()}"
        yield PodEvent(key, WARNING, observed.volumes.reason, observed.volumes.message)
    if isinstance(observed.sandbox, SandboxFailure):
        key = f"FailedCreatePodSandBox/{observed.sandbox.at.isoformat()}"
        yield PodEvent(key, WARNING, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {observed.sandbox.message}")
    if attempts.sandbox_lost(observed) and not context.termination.cause:
        attempt = max((current.state.attempt for current in observed.containers.values() if current.state), default=0)
        message = "Pod sandbox changed, it will be killed and re-created."
        yield PodEvent(f"SandboxChanged/{attempt}", NORMAL, "SandboxChanged", message)
    if failure is not None:
        type = NORMAL if failure.cause == termination.DEADLINE else WARNING
        message = observed.rejection.message if observed.rejection is not None else failure.message
        yield PodEvent(failure.reason, type, failure.reason, message)


def _container_events(context: SyncContext, container: ContainerSpec) -> Iterator[PodEvent]:
    current = context.current(container)
    if isinstance(current.image, StartFailure) and not attempts.is_active(current) and not context.termination.cause:
        yield from _image_failure_events(context, container, current.image)
    if current.state is None:
        return
    if isinstance(current.state, Running | Exited | StartFailure) and not _recorded_before_adoption(context, container, current):
        yield from _start_events(container, current)
    if current.stopping is not None:
        message = _killing_message(context, container, current.stopping.reason)
        yield _event(container, f"Killing/{current.state.attempt}", NORMAL, "Killing", message)
    yield from _hook_events(container, current)
    yield from _probe_events(container, current)
    if _in_crash_loop(context, container, current):
        message = f"Back-off restarting failed container {container.name} in pod {context.pod.formatted_name}"
        yield _event(container, f"BackOff/{current.state.attempt}", WARNING, "BackOff", message)


def _start_events(container: ContainerSpec, current: ObservedContainer) -> Iterator[PodEvent]:
    state = current.state
    assert state is not None
    number = f"{state.attempt}/{state.count}" if isinstance(state, StartFailure) else str(state.attempt)
    if isinstance(current.image, ResolvedImage):
        message = current.image.pulled_message or f'Container image "{container.image}" already present on machine'
        yield _event(container, f"Pulled/{state.attempt}", NORMAL, "Pulled", message)
    if not isinstance(state, StartFailure) or backoff.consumes_attempt(state):
        yield _event(container, f"Created/{state.attempt}", NORMAL, "Created", f"Created container: {container.name}")
    if isinstance(state, StartFailure):
        yield _event(container, f"Failed/{number}/{state.at.isoformat()}", WARNING, "Failed", f"Error: {state.message}")
    else:
        yield _event(container, f"Started/{state.attempt}", NORMAL, "Started", f"Started container {container.name}")


def _recorded_before_adoption(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> bool:
    """Whether the previous daemon recorded the events of this attempt: its status is in the API."""
    api = context.pod.reported_statuses.get(container.name)
    if not context.observed.adopted or api is None or current.state is None:
        return False
    return bool(api.get("containerID") == context.pod.container_id(container.name, current.state.attempt))


def _image_failure_events(context: SyncContext, container: ContainerSpec, failure: StartFailure) -> Iterator[PodEvent]:
    at = failure.at.isoformat()
    if not backoff.is_image_failure(failure):
        reason = "InspectFailed" if failure.reason == "InvalidImageName" else failure.reason
        yield _event(container, f"{reason}/{at}", WARNING, reason, failure.message)
    else:
        message = f'Failed to pull image "{container.image}": {failure.message}'
        yield _event(container, f"Pulling/{at}", NORMAL, "Pulling", f'Pulling image "{container.image}"')
        yield _event(container, f"FailedPull/{at}", WARNING, "Failed", message)
    yield _event(container, f"FailedImage/{at}", WARNING, "Failed", f"Error: {failure.reason}")
    if image_pulls.is_backing_off(failure, context.now):
        yield _event(container, f"BackOffPull/{at}", NORMAL, "BackOff", f'Back-off pulling image "{container.image}"')
        yield _event(container, f"FailedBackOff/{at}", WARNING, "Failed", "Error: ImagePullBackOff")


def _killing_message(context: SyncContext, container: ContainerSpec, reason: str) -> str:
    if reason == "postStart":
        return "FailedPostStartHook"
    if reason not in backoff.PROBE_FAILURES:
        return f"Stopping container {container.name}"
    if container.type is ContainerType.SIDECAR:
        return f"Init container {container.name} failed {reason} probe"
    again = "" if context.pod.restart_policy == "Never" else ", will be restarted"
    return f"Container {container.name} failed {reason} probe{again}"


def _hook_events(container: ContainerSpec, current: ObservedContainer) -> Iterator[PodEvent]:
    attempt = current.state.attempt if current.state else 0
    if attempts.hook_failed(current.post_start):
        yield _event(container, f"FailedPostStartHook/{attempt}", WARNING, "FailedPostStartHook", "PostStartHook failed")
    if attempts.hook_failed(current.pre_stop):
        yield _event(container, f"FailedPreStopHook/{attempt}", WARNING, "FailedPreStopHook", "PreStopHook failed")


def _probe_events(container: ContainerSpec, current: ObservedContainer) -> Iterator[PodEvent]:
    for kind in PROBE_KINDS:
        results = current.probes.get(kind)
        if results is None or results.last_started_at is None or results.running_since is not None:
            continue
        if results.failures or results.errored:
            outcome = "errored" if results.errored else "failed"
            message = f"{kind.capitalize()} probe {outcome}: {results.last_message}"
            yield _event(container, f"Unhealthy/{kind}/{results.last_started_at.isoformat()}", WARNING, "Unhealthy", message)
        elif results.last_message:
            message = f"{kind.capitalize()} probe warning: {results.last_message}"
            yield _event(
                container, f"ProbeWarning/{kind}/{results.last_started_at.isoformat()}", WARNING, "ProbeWarning", message
            )


def _in_crash_loop(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> bool:
    if context.termination.cause or not backoff.consumes_attempt(current.state):
        return False
    if not attempts.should_restart(context.pod, container, current.state):
        return False
    until = backoff.after_exit(current).until
    return until is not None and until > context.now


def _event(container: ContainerSpec, key: str, type: str, reason: str, message: str) -> PodEvent:
    return PodEvent(f"{container.name}/{key}", type, reason, message, container.name, container.field_path)
