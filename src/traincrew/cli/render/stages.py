"""How far a pod has come, and what a whole job waits for."""

from __future__ import annotations

from traincrew.cli.render.view import View
from traincrew.model import objects

RUNS = ""
MOST = 3
"""Pods that are named; of more it is told how many."""


_LOOPS = {
    "CrashLoopBackOff": "crash loop",
    "ErrImagePull": "image pull",
    "ImagePullBackOff": "image pull",
}
"""Of reasons that come and go while nothing changes, or that take turns: what they have in common."""


def stage(pod: objects.Pod) -> str:
    """What a pod waits for; empty if it runs or has ended well."""
    if pod.terminating:
        return "terminating"
    if pod.status.phase == "Failed":
        return "failed"
    if pod.status.phase == "Succeeded":
        return RUNS
    if trouble := _containers(pod):
        return trouble
    if pod.status.phase == "Running":
        return RUNS
    return _pending(pod)


def _containers(pod: objects.Pod) -> str:
    for status in pod.status.init_container_statuses:
        if status.state.running is not None and not status.ready:
            return f"init container {status.name} is running"
        if status.state.terminated is not None and status.state.terminated.exit_code:
            return f"init container {status.name} failed with exit code {status.state.terminated.exit_code}"
        if status.state.waiting is not None and status.state.waiting.reason not in ("", "PodInitializing"):
            return _waiting(status.state.waiting)
    for status in pod.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
            return _waiting(waiting)
    return ""


def _waiting(waiting: objects.Waiting) -> str:
    return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason


def _pending(pod: objects.Pod) -> str:
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return f"unschedulable: {scheduled.message or scheduled.reason}"
    if not pod.spec.node_name:
        return "waiting to be scheduled"
    return "creating containers"


def waits_for(view: View) -> str:
    """One line; empty when everything runs."""
    job, status = view.job, view.job.status
    if status.finished:
        return ""
    if job.suspended:
        return f"suspended. Run `traincrew resume {view.reference}` to start it."
    if status.why is not None and status.why.message:
        return status.why.message
    if not view.pods:
        return "waiting for pods to be created"
    return _pods(view)


def by_stage(view: View) -> dict[str, list[str]]:
    """The replicas that do not run, by what they wait for."""
    found: dict[str, list[str]] = {}
    for pod in view.pods:
        if word := stage(pod):
            found.setdefault(word, []).append(view.replica(pod))
    return found


def _pods(view: View) -> str:
    waiting = by_stage(view)
    missing = max(view.job.total - len(view.pods), 0)
    if not waiting and not missing:
        return ""
    running = sum(pod.active and not stage(pod) for pod in view.pods)
    told = [f"{some(names)}: {word}" for word, names in waiting.items()]
    if missing:
        told.append(f"{missing} not created yet")
    return f"{running} of {view.job.total} running; " + "; ".join(told)


def some(names: list[str]) -> str:
    rest = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {rest} more" if rest > 0 else "")


def loop(view: View) -> str:
    """In which of the troubles the job is that tell of themselves in ever new words; empty: in none."""
    if view.job.status.why is not None:
        return _LOOPS.get(view.job.status.why.reason, "")
    waiting = (each.state.waiting for pod in view.pods for each in pod.status.container_statuses)
    return next((_LOOPS[each.reason] for each in waiting if each is not None and each.reason in _LOOPS), "")


def started(pod: objects.Pod) -> bool:
    """Whether its containers have ever run."""
    return pod.status.phase in ("Running", "Succeeded", "Failed")
