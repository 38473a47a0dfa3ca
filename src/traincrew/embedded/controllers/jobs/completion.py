"""Whether a Job is to end, and why."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.controllers.jobs import policies
from traincrew.embedded.controllers.jobs.pod_counts import Census

SUCCESS, FAILURE = "SuccessCriteriaMet", "FailureTarget"
FINAL = {SUCCESS: "Complete", FAILURE: "Failed"}


def condition(type: str, reason: str, message: str, now: dt.datetime, status: str = "True") -> Object:
    at = times.rfc3339(now)
    made = {"type": type, "status": status, "lastProbeTime": at, "lastTransitionTime": at}
    return made | {key: value for key, value in (("reason", reason), ("message", message)) if value}


def find(job: Object, type: str) -> Object | None:
    held = (job.get("status") or {}).get("conditions") or ()
    return next((each for each in held if each["type"] == type), None)


def is_true(job: Object, type: str) -> bool:
    found = find(job, type)
    return found is not None and found["status"] == "True"


def finished(job: Object) -> bool:
    return is_true(job, "Complete") or is_true(job, "Failed")


def verdict(census: Census, now: dt.datetime) -> Object | None:
    """The condition that the Job heads for; one that stands already is final. Completions are looked at elsewhere, later."""
    for type in (SUCCESS, FAILURE):
        if is_true(census.job, type):
            return find(census.job, type)
    if found := _failure(census, now):
        return condition(FAILURE, *found, now)
    if census.indexed and (message := policies.success(census.spec, census.completed)):
        return condition(SUCCESS, "SuccessPolicy", message, now)
    return None


def _failure(census: Census, now: dt.datetime) -> tuple[str, str] | None:
    spec = census.spec
    for pod in census.pods if spec.get("podFailurePolicy") else ():
        if census.failed_(pod) and (message := policies.ruling(spec, pod).message):
            return "PodFailurePolicy", message
    if census.failed > spec["backoffLimit"] or _restarts_exceed(census):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left = until_deadline(census, now)
    if left is not None and left <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    if census.per_index:
        return _indexes_failed(census)
    return None


def _indexes_failed(census: Census) -> tuple[str, str] | None:
    failed, most = len(census.failed_indexes), census.spec.get("maxFailedIndexes")
    if most is not None and failed > most:
        return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
    if failed and failed + len(census.completed) >= census.spec["completions"]:
        return "FailedIndexes", "Job has failed indexes"
    return None


def _restarts_exceed(census: Census) -> bool:
    """Containers restarted within their pods count against the same limit."""
    if census.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in census.pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return bool(restarts > 0 and restarts >= census.spec["backoffLimit"])


def until_deadline(census: Census, now: dt.datetime) -> float | None:
    seconds, start = census.spec.get("activeDeadlineSeconds"), census.status.get("startTime")
    if seconds is None or start is None or census.suspended:
        return None
    return (times.parse(start) + dt.timedelta(seconds=seconds) - now).total_seconds()


def completed(census: Census, now: dt.datetime) -> Object | None:
    wanted = census.spec.get("completions")
    reached = census.succeeded > 0 if wanted is None else census.succeeded >= wanted
    if reached and not census.active:
        return condition(SUCCESS, "CompletionsReached", "Reached expected number of succeeded pods", now)
    return None


def until_expiry(job: Object, now: dt.datetime) -> float | None:
    """Seconds until a finished Job is deleted; None: it stays."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None or "deletionTimestamp" in job["metadata"]:
        return None
    for type in FINAL.values():
        if is_true(job, type) and (ended := find(job, type)) is not None:
            return (times.parse(ended["lastTransitionTime"]) + dt.timedelta(seconds=seconds) - now).total_seconds()
    return None
