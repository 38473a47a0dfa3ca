"""The desired PodStatus of a pod."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, conditions, container_statuses, qos, termination
from traincrew.embedded.kubelet.lifecycle import phase as lifecycle_phase
from traincrew.embedded.kubelet.lifecycle.observed import SandboxReady
from traincrew.embedded.kubelet.lifecycle.sync_context import SyncContext

PodStatus = dict[str, Any]

_OWNED_BY_OTHERS = ("nominatedNodeName", "resourceClaimStatuses", "resize", "observedGeneration")


def build(context: SyncContext, terminated: bool) -> PodStatus:
    """terminated: the pod is terminating and none of its containers runs."""
    pod, failure = context.pod, context.termination.failure
    if failure is not None and failure.cause == termination.REJECTION:
        return _rejected(context, failure)
    init_containers = container_statuses.of_containers(context, pod.init_containers)
    containers = container_statuses.of_containers(context, pod.containers)
    if terminated:
        container_statuses.close_unfinished(context, init_containers, containers)
    by_name = {each["name"]: each for each in (*init_containers, *containers)}
    phase = _phase(context, by_name, terminated)
    status: PodStatus = {key: pod.status[key] for key in _OWNED_BY_OTHERS if key in pod.status}
    status |= {
        "phase": phase,
        **_reason_and_message(context, phase),
        "qosClass": qos.qos_class({"spec": pod.spec, "status": pod.status}),
    }
    status["startTime"] = times.rfc3339(attempts.start_time(pod, context.observed, context.now))
    status |= _addresses(context)
    status["conditions"] = _conditions(context, by_name, phase)
    status |= {"initContainerStatuses": init_containers} if init_containers else {}
    status["containerStatuses"] = containers
    if pod.ephemeral_containers:
        status["ephemeralContainerStatuses"] = container_statuses.of_containers(context, pod.ephemeral_containers)
    return status


def _phase(context: SyncContext, by_name: lifecycle_phase.Statuses, terminated: bool) -> str:
    """A pod is not Succeeded or Failed while a container may run. A terminal phase never changes."""
    pod = context.pod
    if pod.is_terminal:
        return pod.phase
    if terminated and context.termination.failure is not None:
        return lifecycle_phase.FAILED
    phase = lifecycle_phase.phase(pod, by_name, terminated)
    if terminated:
        return phase if phase in lifecycle_phase.TERMINAL else lifecycle_phase.FAILED
    return pod.phase if phase in lifecycle_phase.TERMINAL else phase


def _reason_and_message(context: SyncContext, phase: str) -> PodStatus:
    """Reason and message belong to the phase."""
    pod, failure = context.pod, context.termination.failure
    if failure is not None and phase == lifecycle_phase.FAILED and not pod.is_terminal:
        return {"reason": failure.reason, "message": failure.message}
    if phase != pod.phase:
        return {}
    return {key: pod.status[key] for key in ("message", "reason") if pod.status.get(key)}


def _conditions(context: SyncContext, by_name: lifecycle_phase.Statuses, phase: str) -> list[conditions.Condition]:
    pod, failure = context.pod, context.termination.failure
    updated = conditions.of_pod(pod, by_name, phase, isinstance(context.observed.sandbox, SandboxReady))
    if failure is not None and failure.disruption_reason and phase == lifecycle_phase.FAILED and not pod.is_terminal:
        conditions.set_disruption_target(updated, failure.disruption_reason, failure.message)
    return conditions.with_transition_times(pod, context.observed.last_status, updated, context.now)


def _addresses(context: SyncContext) -> PodStatus:
    pod, observed = context.pod, context.observed
    status: PodStatus = {key: pod.status[key] for key in ("hostIP", "hostIPs") if pod.status.get(key)}
    if observed.host_ips:
        status = {"hostIP": observed.host_ips[0], "hostIPs": [{"ip": each} for each in observed.host_ips]}
    pod_ips = _pod_ips(context)
    if pod_ips:
        status |= {"podIP": pod_ips[0], "podIPs": [{"ip": each} for each in pod_ips]}
    return status


def _pod_ips(context: SyncContext) -> list[str]:
    """A pod keeps its addresses after its sandbox is gone."""
    sandbox, pod = context.observed.sandbox, context.pod
    if isinstance(sandbox, SandboxReady) and sandbox.ip:
        return list(sandbox.ips or (sandbox.ip,))
    if pod.spec.get("hostNetwork") and context.observed.host_ips:
        return list(context.observed.host_ips)
    return [each["ip"] for each in pod.status.get("podIPs") or ()]


def _rejected(context: SyncContext, failure: termination.PodFailure) -> PodStatus:
    """A rejected pod has no container statuses, and only the conditions that it had before."""
    pod = context.pod
    status: PodStatus = {"phase": lifecycle_phase.FAILED, "reason": failure.reason, "message": failure.message}
    status["qosClass"] = qos.qos_class({"spec": pod.spec, "status": pod.status})
    status["startTime"] = times.rfc3339(attempts.start_time(pod, context.observed, context.now))
    if pod.status.get("conditions"):
        status["conditions"] = [dict(each) for each in pod.status["conditions"]]
    return status
