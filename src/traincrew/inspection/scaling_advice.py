"""Remedies for elastic jobs, by the reason why they do not have more workers or why workers leave them."""

from __future__ import annotations

from traincrew.inspection import waiting_advice
from traincrew.model.status import Elastic

_WAIT = "Wait until the time that the message names."
_KEEP = "Wait until there is capacity again. `traincrew scale {job} manual` keeps the number of workers of the spec."

BY_REASON: dict[str, str] = {
    # Why the job does not have more workers.
    "AtMaximum": "If the job should have more workers, raise its replicas (`traincrew scale {job} N`) or its maximum, or let it "
                 "use idle capacity: `traincrew scale {job} idle`.",
    "Autoscaler": "If the job should use idle capacity, remove its HorizontalPodAutoscaler, which chooses the number of workers.",
    "CoolingDown": f"{_WAIT} The operator's --resize-budget says how often jobs grow.",
    "DecisionFailed": "The workers stay as they are. Read the operator's log, and report the error.",
    "Headroom": "Free resources, or lower the operator's --headroom.",
    "NotShared": "Correct what the message names, or scale the job by hand: `traincrew scale {job} manual`.",
    "NothingAsked": "Set resources.requests in the template of the workers: capacity for them cannot be counted without.",
    "Queue": "Check the quota of the queue, and what it has admitted: `kubectl get localqueues,workloads`.",
    "Settling": f"{_WAIT} Nothing is wrong: the job grows if the capacity stays idle.",
    "Starting": "Wait until the workers run. If one does not start, `traincrew describe {job}` shows its events.",
    "Unprofitable": "Nothing is wrong: a change would cost more work than it is expected to bring. The job grows if the capacity "
                    "stays idle; a program that saves checkpoints more often (checkpoint-seconds) grows earlier.",
    "Yielding": _KEEP,
    # Why workers leave.
    "EvenedOut": "Nothing is wrong: a job with fewer workers gets the capacity. A larger weight gives this job more of it.",
    "GaveBack": _KEEP,
    "Noticed": "Wait until there is another node: the node of these workers is about to be terminated.",
    "Reclaimed": _KEEP,
    "Refused": "Wait until a node has room: the operator tries again.",
    "Resized": "If the job should keep the workers, raise its replicas: `traincrew scale {job} N`.",
}  # fmt: skip
"""Without those whose message selects the remedy."""
_LIKE_PODS = {"NoRoom": "FailedScheduling", "Quota": "QuotaExceeded", "Rejected": "FailedCreatePod"}
"""The reasons of pods whose remedies fit, as the message is that of the scheduler or of the API server."""


def on_scaling(reason: str, message: str, job: str) -> str:
    """Empty: nothing is known about the reason."""
    if reason in _LIKE_PODS:
        return waiting_advice.on_waiting(_LIKE_PODS[reason], message, job)
    return BY_REASON.get(reason, "").replace("{job}", job)


def remedies(elastic: Elastic, job: str) -> list[str]:
    """Of its present state. The reason of the last change needs none."""
    why = [on_scaling(elastic.why.reason, elastic.why.message, job)] if elastic.why is not None else []
    return [*why, *(on_scaling(each.reason, "", job) for each in elastic.leaving)]
