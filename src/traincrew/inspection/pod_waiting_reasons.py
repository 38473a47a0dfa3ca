"""Why pods and jobs are not running yet."""

from __future__ import annotations

import re

from traincrew.inspection import kueue_admission
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects

MAX_NAMES = 3
"""Replicas that are named; the others are counted."""

UNSCHEDULABLE = "unschedulable"

_BACKOFFS = {
    "CrashLoopBackOff": "crash loop",
    "ErrImagePull": "image pull",
    "ImagePullBackOff": "image pull",
}
"""By reason: the backoff to which it belongs. These reasons alternate while the state does not change."""


def pod_reason(pod: objects.Pod) -> str:
    """Why a pod is not running; empty if it runs or succeeded."""
    if pod.terminating:
        return "terminating"
    if pod.status.phase == "Failed":
        return "failed"
    if pod.status.phase == "Succeeded":
        return ""
    if reason := _container_reason(pod):
        return reason
    if pod.status.phase == "Running":
        return ""
    return _pending_reason(pod)


def _container_reason(pod: objects.Pod) -> str:
    if pod.status.containers_ended:
        return ""  # sidecars that are stopped now may exit with any code
    for status in pod.status.init_container_statuses:
        if status.state.running is not None and not status.ready:
            return f"init container {status.name} is running"
        if status.state.terminated is not None and status.state.terminated.exit_code:
            return f"init container {status.name} failed with exit code {status.state.terminated.exit_code}"
        if status.state.waiting is not None and status.state.waiting.reason not in ("", "PodInitializing"):
            return _waiting_message(status.state.waiting)
    for status in pod.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
            return _waiting_message(waiting)
    return ""


def _waiting_message(waiting: objects.Waiting) -> str:
    return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason


def _pending_reason(pod: objects.Pod) -> str:
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return f"{UNSCHEDULABLE}: {without_preemption(scheduled.message) or scheduled.reason}"
    if not pod.spec.node_name:
        return "waiting to be scheduled"
    return "creating containers"


def without_preemption(message: str) -> str:
    """The message of the scheduler without its sentence about preemption, which says the same again."""
    return re.sub(r" preemption: 0/\d+ nodes are available: [^.]*\.", "", message)


def job_reason(observed: ObservedJob) -> str:
    """One line about a job that is not running completely; empty if all pods run."""
    job, status = observed.job, observed.job.status
    if status.finished:
        return ""
    if job.suspended and (queue := kueue_admission.queue(observed)):
        return f"suspended, waits in queue {queue} of Kueue. `traincrew why {observed.reference}` shows the reason."
    if job.suspended:
        return f"suspended. Run `traincrew resume {observed.reference}` to start it."
    if status.why is not None and status.why.message:
        return without_preemption(status.why.message)
    if not observed.pods:
        return "waiting for pods to be created"
    return _pods_reason(observed)


def replicas_by_reason(observed: ObservedJob) -> dict[str, list[str]]:
    """The replicas that do not run, grouped by reason."""
    found: dict[str, list[str]] = {}
    for pod in observed.pods:
        if reason := pod_reason(pod):
            found.setdefault(reason, []).append(observed.replica(pod))
    return found


def _pods_reason(observed: ObservedJob) -> str:
    waiting = replicas_by_reason(observed)
    missing = max(observed.job.total - len(observed.pods), 0)
    if not waiting and not missing:
        return ""
    running = sum(pod.active and not pod_reason(pod) for pod in observed.pods)
    parts = [f"{abbreviate(names)}: {reason}" for reason, names in waiting.items()]
    if missing:
        parts.append(f"{missing} not created yet")
    return f"{running} of {observed.job.total} running; " + "; ".join(parts)


def group(what: str, names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} {what} ({abbreviate(names)})"


def abbreviate(names: list[str]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def backoff(observed: ObservedJob) -> str:
    """The backoff of the job, whose messages keep changing; empty if there is none."""
    if observed.job.status.why is not None:
        return _BACKOFFS.get(observed.job.status.why.reason, "")
    waiting = (each.state.waiting for pod in observed.pods for each in pod.status.container_statuses)
    return next((_BACKOFFS[each.reason] for each in waiting if each is not None and each.reason in _BACKOFFS), "")


def started(pod: objects.Pod) -> bool:
    """Whether the containers of the pod have started."""
    return pod.status.phase in ("Running", "Succeeded", "Failed")
