"""The next status of a Job, and the pods whose finalizer is removed after it is written."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import completion_indexes, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.jobs import completion, pod_indexes, policies
from traincrew.embedded.controllers.jobs.pod_counts import JobPods
from traincrew.embedded.controllers.pods import Pod

MAX_UNCOUNTED = 500
"""Pods in status.uncountedTerminatedPods at once: the status stays small."""


class StatusUpdate(NamedTuple):
    status: Object
    release: tuple[Pod, ...]
    events: tuple[tuple[str, str, str], ...]


class _Uncounted(NamedTuple):
    succeeded: list[str]
    failed: list[str]
    completed: frozenset[int]
    release: tuple[Pod, ...]


def next_status(job_pods: JobPods, finished: Object | None, now: dt.datetime) -> StatusUpdate:
    status, uncounted = dict(job_pods.status), _uncounted_pods(job_pods, finished)
    _count(status, job_pods, uncounted)
    events = _conditions(status, job_pods, finished, now)
    if finished is not None and not (uncounted.release or status["uncountedTerminatedPods"] or job_pods.terminating):
        events += _end(status, job_pods, finished, now)
    return StatusUpdate({key: value for key, value in status.items() if value is not None}, uncounted.release, events)


def _count(status: Object, job_pods: JobPods, uncounted: _Uncounted) -> None:
    tracked = {pod.metadata.uid for pod in job_pods.pods if pod.tracked}
    let_go = {each: [uid for uid in job_pods.uncounted(each) if uid not in tracked] for each in ("succeeded", "failed")}
    succeeded = len(uncounted.completed) if job_pods.indexed else status.get("succeeded", 0) + len(let_go["succeeded"])
    noted = {
        outcome: [uid for uid in getattr(uncounted, outcome) if uid not in let_go[outcome]] for outcome in ("succeeded", "failed")
    }
    status |= {
        "active": len(job_pods.active) or None,
        "ready": sum(pod.ready for pod in job_pods.active),
        "terminating": len(job_pods.terminating),
        "succeeded": succeeded or None,
        "failed": status.get("failed", 0) + len(let_go["failed"]) or None,
        "uncountedTerminatedPods": {key: value for key, value in noted.items() if value},
    }
    if job_pods.indexed:
        status["completedIndexes"] = completion_indexes.render(uncounted.completed) or None
    if job_pods.per_index:
        status["failedIndexes"] = completion_indexes.render(job_pods.failed_indexes)


def _uncounted_pods(job_pods: JobPods, finished: Object | None) -> _Uncounted:
    """The pods that have ended, or must end, and are not counted yet."""
    succeeded, failed = list(job_pods.uncounted("succeeded")), list(job_pods.uncounted("failed"))
    completed = set(
        completion_indexes.parse(
            job_pods.status.get("completedIndexes", ""), job_pods.spec["completions"] if job_pods.indexed else 0
        )
    )
    failing = finished is not None and finished["type"] == completion.FAILURE
    release, fresh = [], 0
    for pod in sorted(job_pods.pods, key=lambda each: pod_indexes.of(each) or 0) if job_pods.indexed else job_pods.pods:
        if not pod.tracked or not _is_over(job_pods, finished, pod):
            continue
        release.append(pod)
        uid, valid = pod.metadata.uid, job_pods.valid(pod)
        if pod.status.phase == "Succeeded" and uid not in failed:
            if job_pods.indexed and valid:
                completed.add(pod_indexes.of(pod) or 0)
            elif not job_pods.indexed and uid not in succeeded:
                succeeded.append(uid)
        elif (failing or (job_pods.is_failed(pod) and not (finished and pod.terminating))) and valid and uid not in failed:
            # Pods that end early because of a success policy are not failures.
            failed += [uid] if policies.match_failure_policy(job_pods.spec, pod).counts else []
        fresh += 1
        if fresh >= MAX_UNCOUNTED:
            break
    return _Uncounted(succeeded, failed, frozenset(completed), tuple(release))


def _is_over(job_pods: JobPods, finished: Object | None, pod: Pod) -> bool:
    if job_pods.deleted or finished is not None or pod.status.phase == "Succeeded":
        return True
    if not job_pods.is_failed(pod):
        return False
    index = pod_indexes.of(pod)
    return not (job_pods.per_index and index is not None and job_pods.awaiting_replacement.get(index) is pod)


def _conditions(status: Object, job_pods: JobPods, finished: Object | None, now: dt.datetime) -> tuple[tuple[str, str, str], ...]:
    conditions = list(status.get("conditions") or ())
    if "startTime" not in status and not job_pods.suspended:
        status["startTime"] = times.rfc3339(now)
    events: tuple[tuple[str, str, str], ...] = ()
    if finished is not None:
        if not completion.is_true(job_pods.job, finished["type"]):
            conditions.append(finished)
    elif not job_pods.deleted and job_pods.suspended != completion.is_true(job_pods.job, "Suspended"):
        reason = "Suspended" if job_pods.suspended else "Resumed"
        shown = "True" if job_pods.suspended else "False"
        changed = completion.condition("Suspended", f"Job{reason}", f"Job {reason.lower()}", now, shown)
        conditions = [each for each in conditions if each["type"] != "Suspended"] + [changed]
        events = (("Normal", reason, f"Job {reason.lower()}"),)
        if not job_pods.suspended:
            status["startTime"] = times.rfc3339(now)
    status["conditions"] = conditions or None
    return events


def _end(status: Object, job_pods: JobPods, finished: Object, now: dt.datetime) -> tuple[tuple[str, str, str], ...]:
    """The final condition: only after SuccessCriteriaMet or FailureTarget is written, so that the reason is always visible."""
    if not completion.is_true(job_pods.job, finished["type"]):
        return ()
    reason, message = finished.get("reason", ""), finished.get("message", "")
    final = completion.condition(completion.FINAL_CONDITIONS[finished["type"]], reason, message, now)
    status["conditions"] = [*(status.get("conditions") or ()), final]
    if final["type"] == "Failed":
        return (("Warning", reason, message),)
    status["completionTime"] = final["lastTransitionTime"]
    completions = job_pods.spec.get("completions")
    too_many = completions is not None and (status.get("succeeded") or 0) > completions
    warning = (("Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached"),)
    return (*(warning if too_many else ()), ("Normal", "Completed", "Job completed"))
