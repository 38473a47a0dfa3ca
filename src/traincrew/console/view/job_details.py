"""A job with everything that its page shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from traincrew.console.contract.job_detail import (
    Action,
    ActionName,
    Condition,
    Diagnosis,
    ElasticLimits,
    Event,
    Failure,
    JobDetail,
    Permission,
    RecordingInfo,
    Restarts,
    RoleSummary,
)
from traincrew.console.view import job_summaries, replica_paging, replicas, timeline
from traincrew.console.view.job_summaries import Activity
from traincrew.console.view.pods import ShownPod
from traincrew.inspection import events, explanation, failures, scaling_limits
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds import autoscaling
from traincrew.kinds.kind import JobKind
from traincrew.model import status
from traincrew.model.meta import Time

RIGHTS: Mapping[ActionName, str] = {
    "suspend": "patch",
    "resume": "patch",
    "scale": "patch",
    "rerun": "create",
    "delete": "delete",
}
"""By action: the verb that the user must be allowed to use."""


DELETED = "the job was deleted: this is its record"
RECORDING = "this is a recording of the job"


@dataclasses.dataclass(frozen=True)
class JobObjects:
    """What was read of a job."""

    kind: JobKind
    observed: ObservedJob
    pods: Sequence[ShownPod]
    evidence: explanation.Evidence
    rights: frozenset[str]
    """Verbs that the user may use on jobs of this kind and namespace."""
    may_exec: bool
    """Whether the user may run commands in pods of this namespace."""
    activity: Activity = Activity()
    recording: RecordingInfo | None = None
    """The file that they were read from."""

    @property
    def read_only(self) -> str:
        """Why nothing can be done with the job. Empty: it exists."""
        if self.recording is not None:
            return RECORDING
        return DELETED if self.observed.deleted is not None else ""


def detail(read: JobObjects, now: Time) -> JobDetail:
    observed, stored = read.observed, read.observed.job.status
    slots = replicas.slots(observed, read.pods)
    shown = replica_paging.shown(slots)
    return JobDetail(
        summary=job_summaries.summarize(read.kind, observed, now, read.activity),
        roles=[
            RoleSummary(name=name, replicas=observed.job.count(name), restart_policy=role.restart_policy)
            for name, role in observed.job.roles.items()
        ],
        replicas=[replicas.describe(observed, each) for each in shown],
        more_replicas=len(slots) - len(shown),
        timeline=timeline.of_job(observed, [each.pod for each in shown if each.pod is not None]),
        diagnosis=_diagnosis(observed, read.evidence, now),
        events=event_messages(observed, read.pods, read.evidence.events),
        conditions=[_condition(each) for each in stored.conditions],
        restarts=Restarts(
            charged=stored.restarts.charged, limit=observed.job.policy.backoff_limit, disruptions=stored.restarts.disruptions
        ),
        elastic=_elastic(observed),
        actions=_actions(read),
        terminal=_terminal(read),
        annotations=observed.job.metadata.annotations,
        deleted=observed.deleted,
        recording=read.recording,
    )


def _condition(stored: status.Condition) -> Condition:
    return Condition(
        type=stored.type,
        status=stored.status,
        reason=stored.reason,
        message=stored.message,
        since=stored.last_transition_time,
    )


def _diagnosis(observed: ObservedJob, evidence: explanation.Evidence, now: Time) -> Diagnosis:
    found = explanation.explain(observed, evidence, now)
    return Diagnosis(
        failure=_failure(observed, evidence),
        causes=list(found.causes),
        evidence=list(found.evidence),
        pods=list(found.pods),
        warnings=list(found.warnings),
        remedies=list(found.remedies),
        commands=list(found.commands),
    )


def _failure(observed: ObservedJob, evidence: explanation.Evidence) -> Failure | None:
    """The failure in the status, with what the logs show about it."""
    recorded = observed.failure
    if recorded is None:
        return None
    found = failures.diagnose(observed, evidence.ends)
    first = found.replica if found is not None and found.replica else recorded.replica
    is_recorded = first == recorded.replica
    return Failure(
        replica=_short(first),
        pod=recorded.pod if is_recorded else "",
        node=recorded.node if is_recorded else "",
        container=recorded.container if is_recorded else "",
        exit_code=recorded.exit_code if is_recorded else None,
        reason=recorded.reason if is_recorded else "",
        disruption=recorded.disruption,
        time=recorded.time,
        cause=found.cause if found is not None else recorded.cause,
        advice=(found.advice if found is not None else "") or recorded.advice,
        evidence=list(found.evidence) if found is not None else [],
        victims=[_short(name) for name in _victims(recorded.replica, first, found.victims if found is not None else ())],
        message=recorded.message,
        final=observed.job.status.is_true("Failed"),
    )


def _victims(recorded: str, first: str, found: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*([recorded] if recorded != first else []), *found]))


def _short(replica: str) -> str:
    """`worker-1` of `Worker 1`."""
    return replica.lower().replace(" ", "-")


def event_messages(observed: ObservedJob, pods: Sequence[ShownPod], listed: Sequence[events.ListedEvent]) -> list[Event]:
    names = {pod.name: observed.replica(pod) for pod in pods}
    return [
        Event(
            uid=each.metadata.uid or f"{each.metadata.namespace}/{each.metadata.name}",
            type=each.type,
            reason=each.reason,
            message=each.message,
            object_kind=each.involved_object.kind,
            object_name=each.involved_object.name,
            replica=names.get(each.involved_object.name, "") if each.involved_object.kind == "Pod" else "",
            source=each.source.component or each.reporting_component,
            count=each.times,
            first=each.first_timestamp or each.event_time or each.time,
            last=each.time,
        )
        for each in events.in_order(listed)
    ]


def _elastic(observed: ObservedJob) -> ElasticLimits | None:
    policy = getattr(observed.job.spec, "elastic_policy", None)
    if policy is None or scaling_limits.ROLE not in observed.job.roles:
        return None
    low, high = autoscaling.bounds(observed.job, policy)
    return ElasticLimits(role=scaling_limits.ROLE, min=low, max=high)


def _actions(read: JobObjects) -> list[Action]:
    found, observed = [], read.observed
    for name, verb in RIGHTS.items():
        reason = read.read_only or objection(observed, name)
        if not reason and verb not in read.rights:
            reason = f"you lack the right to {verb} {observed.kind.plural} in namespace {observed.job.namespace}"
        found.append(Action(name=name, allowed=not reason, reason=reason))
    return found


def _terminal(read: JobObjects) -> Permission:
    observed = read.observed
    if read.read_only:
        reason = read.read_only
    elif not read.may_exec:
        reason = f"you lack the right to create pods/exec in namespace {observed.job.namespace}"
    else:
        reason = "" if any(pod.status.phase == "Running" for pod in observed.pods) else "no replica of the job runs"
    return Permission(allowed=not reason, reason=reason)


def objection(observed: ObservedJob, action: ActionName) -> str:
    """Why the state of the job does not allow an action; empty if it does."""
    if action in ("rerun", "delete"):
        return ""
    if observed.job.status.finished:
        return f"the job is already finished ({observed.state})"
    if action == "scale":
        return "" if scaling_limits.ROLE in observed.job.roles else "the job has no workers"
    if observed.job.suspended is (action == "suspend"):
        return "the job is already suspended" if action == "suspend" else "the job is not suspended"
    return ""
