"""What the failures of a job mean: causes and remedies, for `why`, `describe` and `run`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.diagnosis import cause
from traincrew.diagnosis.cause import Diagnosis
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import advice, pod_waiting_reasons, waiting_advice
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure
from traincrew.planner import first_failures, recorded_ends


class Explained(NamedTuple):
    causes: list[str]
    remedies: list[str]


def diagnose(observed: ObservedJob, ends: Sequence[ReplicaEnd]) -> Diagnosis | None:
    """From the logs that could be read, else from the record in the status. None: there is nothing to explain."""
    failure = observed.failure
    if failure is None or failure.disruption:
        return None
    ends = [end for end in ends if is_related(end.ended, failure)]
    known = recorded_ends.replica_end(failure)
    recorded = cause.diagnose([known])
    if recorded is not None and failure.cause:
        recorded = dataclasses.replace(recorded, cause=failure.cause)  # the operator knew more than the record has
    if any(end.replica == failure.replica for end in ends):
        read = cause.diagnose(ends, failure.replica)
    else:  # its log is gone, or cannot be read
        read = cause.diagnose([*ends, known], failure.replica)
        read = recorded if read is None or read.replica == failure.replica else read
    if read is None or (read.recognizer == cause.UNKNOWN and recorded is not None and recorded.recognizer != cause.UNKNOWN):
        read = recorded
    if read is None or read.replica != failure.replica:
        return read
    # The pods of some victims may be deleted.
    return dataclasses.replace(read, victims=tuple(dict.fromkeys([*read.victims, *failure.victims])))


def is_related(ended: Time | None, recorded: Failure) -> bool:
    """Whether a replica that ended then may have failed of the same cause. A pod shows also ends that were retried hours ago."""
    return ended is None or recorded.time is None or ended >= recorded.time - first_failures.RELATED


def is_known_fault(observed: ObservedJob, ends: Sequence[ReplicaEnd]) -> bool:
    """Whether the output shows a fault that has a remedy of its own."""
    found = diagnose(observed, ends)
    return found is not None and any(each.name == found.recognizer and each.advice for each in RECOGNIZERS)


def missing_module(observed: ObservedJob, ends: Sequence[ReplicaEnd]) -> str:
    """The module that Python did not find; empty if there is none."""
    found = diagnose(observed, ends)
    return found.details.get("module", "") if found is not None and found.recognizer == "missing-module" else ""


def explain(
    observed: ObservedJob, ends: Sequence[ReplicaEnd], runtime: advice.RuntimeEnvironment = advice.UNKNOWN_ENVIRONMENT
) -> Explained:
    """The failure that ended the job or its latest attempt; before it, an earlier one that was retried."""
    status, failure = observed.job.status, observed.failure
    causes, remedies = list[str](), list[str]()
    if status.is_true("Failed") and (failure is None or status.ended_by not in ("", "Replica")):
        failed = [condition for condition in status.conditions if condition.type == "Failed"]
        causes += [condition.message for condition in failed if condition.message]
        remedies += [waiting_advice.on_waiting(condition.reason, condition.message, observed.reference) for condition in failed]
    if failure is None:
        return Explained(causes, remedies)
    if status.failure is not None and failure is not status.failure:
        causes.append(f"first failure: {_line(status.failure)}")
    causes += _latest(observed, failure, diagnose(observed, ends))
    remedies.append(advice.on_failure(failure, diagnose(observed, ends), runtime))
    return Explained(causes, remedies)


def _latest(observed: ObservedJob, failure: Failure, diagnosis: Diagnosis | None) -> list[str]:
    title = "" if observed.job.status.is_true("Failed") else "last failure: "
    if diagnosis is None or diagnosis.replica == failure.replica:
        lines = [f"{title}{_line(failure, diagnosis.cause if diagnosis is not None else failure.cause)}"]
    else:
        lines = [f"{title}{diagnosis.replica} failed first: {diagnosis.cause}", f"then {_line(failure)}"]
    if diagnosis is not None and (victims := [name for name in diagnosis.victims if name != failure.replica]):
        lines.append(f"{pod_waiting_reasons.abbreviate(victims)} failed because of it")
    restarts = not observed.job.status.finished and observed.job.total > 1
    if restarts and failure.pod and failure.pod == observed.kind.lifecycle.rendezvous(observed.job):
        text = f"{failure.pod} hosts the rendezvous: the other replicas exited with it, and all replicas restart together"
        lines.append(text)
    return lines


def _line(failure: Failure, cause: str = "") -> str:
    code = f" exited with code {failure.exit_code}" if failure.exit_code is not None else " was lost"
    reason = f" ({failure.reason})" if failure.reason not in ("", "Error") else ""
    node = f" on node {failure.node}" if failure.node else ""
    when = f" at {failure.time:%Y-%m-%d %H:%M:%S} UTC" if failure.time else ""
    text = cause or failure.cause
    return f"{failure.replica} (pod {failure.pod}){code}{reason}{node}{when}{f': {text}' if text else ''}"


def summary(observed: ObservedJob, ends: Sequence[ReplicaEnd]) -> str:
    """One line about a failed job, from the logs if they could be read."""
    failure, diagnosis = observed.failure, diagnose(observed, ends)
    if failure is None or observed.job.status.ended_by == "Deadline":
        return next((each.message for each in observed.job.status.conditions if each.type == "Failed"), "")
    verb, replica = ("was disrupted", failure.replica) if failure.disruption else ("failed", failure.replica)
    code = f" with exit code {failure.exit_code}" if failure.exit_code is not None else ""
    if diagnosis is not None and diagnosis.replica != replica:
        replica, code = diagnosis.replica, ""
    reason = f" ({failure.reason})" if failure.reason not in ("", "Error") and replica == failure.replica else ""
    text = diagnosis.cause if diagnosis is not None else failure.cause
    return f"{replica or failure.pod} {verb}{code}{reason}{f': {text}' if text else ''}"


def of_success(observed: ObservedJob) -> tuple[list[str], list[str]]:
    """A job that succeeded, and the replicas that failed all the same or never started."""
    lines = (after_success(observed, observed.pods), _never_started(observed))
    return ["the job succeeded", *filter(None, lines)], []


def _never_started(observed: ObservedJob) -> str:
    """The replicas whose pods still wait, as those do that never fitted on a node."""
    names = [observed.replica(pod) for pod in observed.pods if not pod_waiting_reasons.started(pod) and not pod.terminating]
    return f"{pod_waiting_reasons.abbreviate(names)} never started" if names else ""


def after_success(observed: ObservedJob, pods: Sequence[objects.Pod]) -> str:
    """The replicas of a succeeded job that failed. The leading roles decide; empty if none failed."""
    failed = {observed.replica(pod): _end(pod) for pod in pods if pod.status.phase == "Failed" and not pod.terminating}
    reported = ", ".join(f"{replica} {end}" for replica, end in failed.items() if end)
    if observed.state != "Succeeded" or not reported:
        return ""
    roles = " and ".join(observed.kind.leading(observed.job))
    return f"{reported}; the job succeeded because the {roles} decides"


def _end(pod: objects.Pod) -> str:
    """How the first container that failed by itself ended. Signals are ignored: the clean-up of the job sends them, too."""
    ends = (status.state.terminated for status in pod.status.container_statuses)
    end = next((end for end in ends if end is not None and end.exit_code), None)
    if end is None:
        return ""
    if end.reason == "OOMKilled":
        return "was killed because it ran out of memory"
    return f"exited with code {end.exit_code}" if end.exit_code < 128 else ""
