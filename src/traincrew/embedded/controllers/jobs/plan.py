"""The next step of a Job: pods to create or delete, else the status and the pods that it counts."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.jobs import backoff, completion, pod_template
from traincrew.embedded.controllers.jobs import status as jobs_status
from traincrew.embedded.controllers.jobs.pod_changes import PodChanges, pod_changes
from traincrew.embedded.controllers.jobs.pod_counts import JobPods
from traincrew.embedded.controllers.pods import Pod

CONTROLLER_NAME = "kubernetes.io/job-controller"


@dataclasses.dataclass(frozen=True)
class Step:
    """Actions in the order of execution. After them the next step is planned."""

    delete: tuple[Pod, ...] = ()
    uncounted: bool = False
    """The finalizer of the deleted pods is removed first: they are not failures."""
    create: tuple[Object, ...] = ()
    status: Object | None = None
    release: tuple[Pod, ...] = ()
    """Pods whose finalizer is removed after the status is written."""
    events: tuple[tuple[str, str, str], ...] = ()
    record: backoff.BackoffRecord = backoff.BackoffRecord()
    requeue_after: float | None = None
    """Seconds after which the Job must be planned again without a change."""

    @property
    def idle(self) -> bool:
        return not (self.delete or self.create or self.release) and self.status is None


def plan(job: Object, pods: tuple[Pod, ...], record: backoff.BackoffRecord, now: dt.datetime) -> Step:
    if job["spec"].get("managedBy", CONTROLLER_NAME) != CONTROLLER_NAME:
        return Step()
    if completion.is_finished(job):
        return Step(release=tuple(pod for pod in pods if pod.tracked))
    job_pods = JobPods(job, pods)
    renewed = backoff.updated(record, job_pods.new_succeeded, job_pods.new_failed)
    finished, changes = completion.finished_condition(job_pods, now), PodChanges()
    if finished is not None:
        if job_pods.active:
            return Step(delete=job_pods.active, record=record)
    else:
        if not job_pods.deleted:
            changes = pod_changes(job_pods, renewed, now)
        if changes.create or changes.delete:
            created = tuple(pod_template.pod(job, new_pod) for new_pod in changes.create)
            return Step(delete=changes.delete, uncounted=True, create=created, record=record)
        finished = completion.completed(job_pods, now)
    draft = jobs_status.next_status(job_pods, finished, now)
    changed = None if draft.status == job_pods.status else draft.status
    return Step(
        status=changed,
        release=draft.release,
        events=draft.events,
        record=renewed,
        requeue_after=_requeue_after(job_pods, changes, now),
    )


def _requeue_after(job_pods: JobPods, changes: PodChanges, now: dt.datetime) -> float | None:
    delays = [changes.wait] if changes.wait else []
    if (left := completion.until_deadline(job_pods, now)) is not None and left > 0:
        delays.append(left)
    return min(delays, default=None)
