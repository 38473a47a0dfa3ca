"""The next step of a Job: pods to make or delete, else its status and the pods that are counted then."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.controllers.jobs import backoff, completion, pod_template
from traincrew.embedded.controllers.jobs import status as jobs_status
from traincrew.embedded.controllers.jobs.pod_changes import Staffing, staffing
from traincrew.embedded.controllers.jobs.pod_counts import Census
from traincrew.embedded.controllers.pods import Pod

OURS = "kubernetes.io/job-controller"


@dataclasses.dataclass(frozen=True)
class Step:
    """What to do, in this order; whoever has done it asks for the next."""

    delete: tuple[Pod, ...] = ()
    uncounted: bool = False
    """The deleted ones are let go first: they are not failures."""
    make: tuple[Object, ...] = ()
    status: Object | None = None
    release: tuple[Pod, ...] = ()
    """Pods whose tracking ends, once the status is written."""
    events: tuple[tuple[str, str, str], ...] = ()
    record: backoff.Record = backoff.Record()
    again: float | None = None
    """Seconds after which time alone will have changed something."""

    @property
    def idle(self) -> bool:
        return not (self.delete or self.make or self.release) and self.status is None


def plan(job: Object, pods: tuple[Pod, ...], record: backoff.Record, now: dt.datetime) -> Step:
    if job["spec"].get("managedBy", OURS) != OURS:
        return Step()
    if completion.finished(job):
        return Step(release=tuple(pod for pod in pods if pod.tracked))
    census = Census(job, pods)
    renewed = backoff.updated(record, census.new_succeeded, census.new_failed)
    verdict, staffed = completion.verdict(census, now), Staffing()
    if verdict is not None:
        if census.active:
            return Step(delete=census.active, record=record)
    else:
        if not census.deleted:
            staffed = staffing(census, renewed, now)
        if staffed.make or staffed.remove:
            made = tuple(pod_template.pod(job, seat) for seat in staffed.make)
            return Step(delete=staffed.remove, uncounted=True, make=made, record=record)
        verdict = completion.completed(census, now)
    draft = jobs_status.draft(census, verdict, now)
    changed = None if draft.status == census.status else draft.status
    return Step(status=changed, release=draft.release, events=draft.events, record=renewed, again=_again(census, staffed, now))


def _again(census: Census, staffed: Staffing, now: dt.datetime) -> float | None:
    waits = [staffed.wait] if staffed.wait else []
    if (left := completion.until_deadline(census, now)) is not None and left > 0:
        waits.append(left)
    return min(waits, default=None)
