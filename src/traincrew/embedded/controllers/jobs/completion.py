"""The completion of a Job and its reason."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.jobs import policies
from traincrew.embedded.controllers.jobs.pod_counts import JobPods

SUCCESS, FAILURE = "SuccessCriteriaMet", "FailureTarget"
FINAL_CONDITIONS = {SUCCESS: "Complete", FAILURE: "Failed"}


def condition(type: str, reason: str, message: str, now: dt.datetime, status: str = "True") -> Object:
    at = times.rfc3339(now)
    created = {"type": type, "status": status, "lastProbeTime": at, "lastTransitionTime": at}
    return created | {key: value for key, value in (("reason", reason), ("message", message)) if value}


def find(job: Object, type: str) -> Object | None:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type), None)


def is_true(job: Object, type: str) -> bool:
    entry = find(job, type)
    return entry is not None and entry["status"] == "True"


def is_finished(job: Object) -> bool:
    return is_true(job, "Complete") or is_true(job, "Failed")


def finished_condition(job_pods: JobPods, now: dt.datetime) -> Object | None:
    """SuccessCriteriaMet or FailureTarget, if it is due; a condition that is set already stays. Completions: see `completed`."""
    for type in (SUCCESS, FAILURE):
        if is_true(job_pods.job, type):
            return find(job_pods.job, type)
    if failure := _failure(job_pods, now):
        return condition(FAILURE, *failure, now)
    if job_pods.indexed and (message := policies.match_success_policy(job_pods.spec, job_pods.completed)):
        return condition(SUCCESS, "SuccessPolicy", message, now)
    return None


def _failure(job_pods: JobPods, now: dt.datetime) -> tuple[str, str] | None:
    spec = job_pods.spec
    for pod in job_pods.pods if spec.get("podFailurePolicy") else ():
        if job_pods.is_failed(pod) and (message := policies.match_failure_policy(spec, pod).message):
            return "PodFailurePolicy", message
    if job_pods.failed > spec["backoffLimit"] or _restarts_exceed(job_pods):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left = until_deadline(job_pods, now)
    if left is not None and left <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    if job_pods.per_index:
        return _indexes_failed(job_pods)
    return None


def _indexes_failed(job_pods: JobPods) -> tuple[str, str] | None:
    failed, most = len(job_pods.failed_indexes), job_pods.spec.get("maxFailedIndexes")
    if most is not None and failed > most:
        return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
    if failed and failed + len(job_pods.completed) >= job_pods.spec["completions"]:
        return "FailedIndexes", "Job has failed indexes"
    return None


def _restarts_exceed(job_pods: JobPods) -> bool:
    """Container restarts within pods count against the same limit."""
    if job_pods.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in job_pods.pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return bool(restarts > 0 and restarts >= job_pods.spec["backoffLimit"])


def until_deadline(job_pods: JobPods, now: dt.datetime) -> float | None:
    seconds, start = job_pods.spec.get("activeDeadlineSeconds"), job_pods.status.get("startTime")
    if seconds is None or start is None or job_pods.suspended:
        return None
    return (times.parse(start) + dt.timedelta(seconds=seconds) - now).total_seconds()


def completed(job_pods: JobPods, now: dt.datetime) -> Object | None:
    completions = job_pods.spec.get("completions")
    reached = job_pods.succeeded > 0 if completions is None else job_pods.succeeded >= completions
    if reached and not job_pods.active:
        return condition(SUCCESS, "CompletionsReached", "Reached expected number of succeeded pods", now)
    return None


def until_expiry(job: Object, now: dt.datetime) -> float | None:
    """Seconds until a finished Job is deleted; None: it is kept."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None or "deletionTimestamp" in job["metadata"]:
        return None
    for type in FINAL_CONDITIONS.values():
        if is_true(job, type) and (ended := find(job, type)) is not None:
            return (times.parse(ended["lastTransitionTime"]) + dt.timedelta(seconds=seconds) - now).total_seconds()
    return None
