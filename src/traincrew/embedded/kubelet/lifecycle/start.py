"""Steps that start a pod and keep it running: volumes, sandbox, init containers in order, then the other containers together."""

from __future__ import annotations

from traincrew.embedded.kubelet.lifecycle import attempts, backoff, due_probes, image_pulls, stop
from traincrew.embedded.kubelet.lifecycle.observed import (
    MountFailure,
    Running,
    SandboxFailure,
    SandboxGone,
    SandboxReady,
    StartFailure,
    Starting,
    VolumesMounted,
)
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType
from traincrew.embedded.kubelet.lifecycle.probes import result
from traincrew.embedded.kubelet.lifecycle.steps import (
    CreateSandbox,
    MountVolumes,
    ReadLogTail,
    ResolveImage,
    RunHook,
    StartContainer,
)
from traincrew.embedded.kubelet.lifecycle.stop import StopReason
from traincrew.embedded.kubelet.lifecycle.sync_context import PendingSteps, SyncContext


def sync_pod(context: SyncContext, pending: PendingSteps) -> None:
    pending.sync_at(context.termination.active_deadline)
    for container in context.pod.all_containers:
        _sync_when_waiting_ends(context, pending, container)
    if not isinstance(context.observed.sandbox, SandboxReady):
        _prepare_sandbox(context, pending)
        return
    for container in context.pod.all_containers:
        _sync_container(context, pending, container)
    for container in context.pod.ephemeral_containers:
        current = context.current(container)
        if not attempts.is_active(current) and not backoff.consumes_attempt(current.state):
            _start(context, pending, container)
    if _initialize(context, pending):
        _start_containers(context, pending)


def _sync_when_waiting_ends(context: SyncContext, pending: PendingSteps, container: ContainerSpec) -> None:
    """The reported state of a waiting container changes with time, whether or not it is next to start."""
    current = context.current(container)
    if isinstance(current.image, StartFailure):
        pending.sync_at(image_pulls.backoff_starts_at(current.image))
    if backoff.consumes_attempt(current.state) and attempts.should_restart(context.pod, container, current.state):
        pending.sync_at(backoff.after_exit(current).until)


def _prepare_sandbox(context: SyncContext, pending: PendingSteps) -> None:
    observed = context.observed
    match observed.volumes:
        case None:
            pending.add(MountVolumes())
        case MountFailure(at=at, count=count):
            pending.add_at(backoff.retry(at, count), MountVolumes())
        case VolumesMounted():
            match observed.sandbox:
                case None | SandboxGone():
                    pending.add(CreateSandbox())
                case SandboxFailure(at=at, count=count):
                    pending.add_at(backoff.retry(at, count), CreateSandbox())


def _sync_container(context: SyncContext, pending: PendingSteps, container: ContainerSpec) -> None:
    """Steps for a container that runs or has just exited."""
    current = context.current(container)
    if attempts.awaits_log_tail(container, current.state):
        pending.add(ReadLogTail(container.name, current.state.attempt if current.state else 0))
    if not isinstance(current.state, Running):
        return
    hook = container.hook("postStart")
    stop_reason = _stop_reason(context, container)
    if stop_reason is not None:
        stop.terminate_container(context, pending, container, stop_reason)
        due_probes.add_due_probes(context, pending, container, readiness_only=True)
    elif hook is not None and current.post_start is None:
        pending.add(RunHook(container.name, current.state.attempt, "postStart", hook))
    else:
        due_probes.add_due_probes(context, pending, container)


def _stop_reason(context: SyncContext, container: ContainerSpec) -> StopReason | None:
    """Why one container has to stop while its pod keeps running."""
    current = context.current(container)
    if current.stopping is not None:
        return StopReason(current.stopping.reason, current.stopping.grace_period)
    if attempts.hook_failed(current.post_start):
        return StopReason("postStart", context.pod.grace_period)
    for kind in ("liveness", "startup"):
        probe = container.probe(kind)
        if probe is not None and result(current, "liveness" if kind == "liveness" else "startup") is False:
            own = probe.get("terminationGracePeriodSeconds")
            return StopReason(kind, float(own) if own is not None else context.pod.grace_period)
    return None


def _initialize(context: SyncContext, pending: PendingSteps) -> bool:
    """Starts init containers. Returns whether the regular containers may run. Sidecars that were reached stay running."""
    init_containers = context.pod.init_containers
    if _already_initialized(context):
        reached = len(init_containers)
    else:
        started = [
            index
            for index, container in enumerate(init_containers)
            if attempts.in_current_sandbox(context.observed, context.current(container).state)
        ]
        reached = started[-1] if started else 0
        if started and _allows_next(context, init_containers[reached]):
            reached += 1
    for container in init_containers[:reached]:
        if container.type is ContainerType.SIDECAR and not attempts.is_active(context.current(container)):
            _start(context, pending, container)
    if reached < len(init_containers) and not attempts.is_active(context.current(init_containers[reached])):
        _start(context, pending, init_containers[reached])
    return reached == len(init_containers)


def _already_initialized(context: SyncContext) -> bool:
    states = (context.current(container).state for container in context.pod.containers)
    return any(state is not None and attempts.in_current_sandbox(context.observed, state) for state in states)


def _allows_next(context: SyncContext, container: ContainerSpec) -> bool:
    """Whether the container after this init container may start."""
    current = context.current(container)
    if container.type is ContainerType.INIT:
        return attempts.init_succeeded(current.state)
    return attempts.has_started(context.pod, container, current) and current.stopping is None


def _start_containers(context: SyncContext, pending: PendingSteps) -> None:
    """In order: a postStart hook delays the containers after its own."""
    for container in context.pod.containers:
        current = context.current(container)
        if isinstance(current.state, Starting | Running):
            hook_follows = isinstance(current.state, Starting) and container.hook("postStart") is not None
            if hook_follows or attempts.post_start_pending(container, current):
                return
        elif not attempts.should_restart(context.pod, container, current.state):
            continue
        elif _start(context, pending, container) and container.hook("postStart"):
            return


def _start(context: SyncContext, pending: PendingSteps, container: ContainerSpec) -> bool:
    """Returns whether the container is being started."""
    current = context.current(container)
    if attempts.awaits_log_tail(container, current.state):
        return False
    next_delay = backoff.current_delay(current) if current.state is not None else 0
    if isinstance(current.state, StartFailure) and not backoff.consumes_attempt(current.state):
        moment = backoff.after_start_failure(current.state)
        if moment > context.now:
            pending.sync_at(moment)
            return False
    elif current.state is not None:
        delay = backoff.after_exit(current)
        next_delay = delay.next_delay
        repeated = container.type is ContainerType.INIT and not attempts.in_current_sandbox(context.observed, current.state)
        if delay.until is not None and delay.until > context.now and not repeated:
            pending.sync_at(delay.until)
            return False
    return _add_start(context, pending, container, next_delay)


def _add_start(context: SyncContext, pending: PendingSteps, container: ContainerSpec, next_delay: int) -> bool:
    current = context.current(container)
    match current.image:
        case None:
            pending.add(ResolveImage(container.name))
        case StartFailure() as failure:
            pending.add_at(backoff.after_start_failure(failure), ResolveImage(container.name))
            return False
        case _:
            pending.add(StartContainer(container.name, attempts.next_attempt(current), next_delay))
    return True
