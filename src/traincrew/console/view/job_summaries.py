"""A job as a row of the list."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew.console.contract.jobs import JobKey, JobSummary, Progress, ReplicaCounts
from traincrew.console.view import job_progress, requests, status_words
from traincrew.inspection import observed_job
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.meta import Time

DESCRIPTION = "traincrew.kubeflow.org/description"
OWNERS = ("traincrew.kubeflow.org/owner", "kubeflow.org/owner", "owner")
"""Annotations and labels that name the owner of a job, in the order of precedence."""
KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"


class Activity(NamedTuple):
    """What a running job does, beside what its objects say."""

    hang: str = ""
    """Why it seems to hang."""
    progress: Progress | None = None
    """From its output."""


def summarize(kind: JobKind, observed: ObservedJob, now: Time, activity: Activity = Activity()) -> JobSummary:  # noqa: B008 - frozen
    """kind: the kind of the resource; that of the observed job may be a variant."""
    job, meta = observed.job, observed.job.metadata
    requested = requests.of_job(job)
    return JobSummary(
        namespace=meta.namespace,
        kind=kind.singular,
        kind_name=kind.kind,
        api_version=f"{jobs.GROUP}/{observed.kind.version}",
        name=meta.name,
        uid=meta.uid,
        status=status_words.status(observed, now),
        stalled=observed.hang or activity.hang,
        why=status_words.why(observed, now),
        attempt=1 + job.status.restarts.charged + job.status.restarts.disruptions,
        created=meta.creation_timestamp,
        started=job.status.start_time,
        ended=_ended(observed),
        replicas=_counts(observed),
        resources=requested,
        devices=requests.devices(requested),
        progress=job_progress.of_annotation(meta.annotations) or activity.progress,
        description=meta.annotations.get(DESCRIPTION, ""),
        owner=_owner(meta.annotations, meta.labels),
        queue=_queue(job),
        priority=_priority(job),
        labels=meta.labels,
    )


def key(summary: JobSummary) -> JobKey:
    return JobKey(namespace=summary.namespace, kind=summary.kind, name=summary.name, uid=summary.uid)


def _ended(observed: ObservedJob) -> Time | None:
    status = observed.job.status
    return status.completion_time or (observed_job.since(status) if status.finished else None)


def _counts(observed: ObservedJob) -> ReplicaCounts:
    """Of the pods; the counts of the status remain when the pods of a finished job are deleted."""
    recorded = observed.job.status.replica_statuses.values()
    phases = [pod.status.phase for pod in observed.pods]
    return ReplicaCounts(
        total=observed.job.total,
        ready=sum(pod.ready for pod in observed.pods),
        running=sum(pod.active for pod in observed.pods),
        succeeded=max(phases.count("Succeeded"), sum(each.succeeded for each in recorded)),
        failed=max(phases.count("Failed"), sum(each.failed for each in recorded)),
    )


def _owner(annotations: dict[str, str], labels: dict[str, str]) -> str:
    return next((value for name in OWNERS if (value := annotations.get(name) or labels.get(name))), "")


def _queue(job: jobs.Job) -> str:
    policy = job.policy.scheduling_policy
    return job.metadata.labels.get(status_words.KUEUE_QUEUE) or (policy.queue if policy is not None else "") or ""


def _priority(job: jobs.Job) -> str:
    policy = job.policy.scheduling_policy
    if policy is not None and policy.priority_class:
        return policy.priority_class
    classes = (_priority_class(bytes(role.template)) for role in job.roles.values())
    return job.metadata.labels.get(KUEUE_PRIORITY) or next(filter(None, classes), "")


class _TemplateSpec(msgspec.Struct, rename="camel"):
    priority_class_name: Any = ""


class _Template(msgspec.Struct):
    spec: _TemplateSpec | None = None


def _priority_class(template: bytes) -> str:
    """Templates of jobs that the operator rejects may be anything."""
    if b"priorityClassName" not in template:
        return ""
    try:
        found = msgspec.json.decode(template, type=_Template)
    except msgspec.DecodeError:
        return ""
    return str(found.spec.priority_class_name or "") if found.spec is not None else ""
