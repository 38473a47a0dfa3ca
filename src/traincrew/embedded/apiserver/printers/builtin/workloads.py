"""Deployments, replica sets, stateful sets, daemon sets, jobs, cron jobs, disruption budgets."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery import times
from traincrew.apimachinery.durations import Ages, human
from traincrew.embedded.apiserver.printers.builtin.cells import (
    NONE,
    UNSET,
    Condition,
    Fields,
    Metadata,
    PodTemplate,
    Selector,
    condition,
    images,
    labels,
    selector,
    selector_text,
)
from traincrew.embedded.apiserver.printers.columns import Printer, definitions


class _Object(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class ReplicasSpec(Fields):
    replicas: int = 1
    selector: Selector | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class ReplicasStatus(Fields):
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0


class Replicated(_Object):
    """A Deployment, a ReplicaSet or a StatefulSet."""

    spec: ReplicasSpec = msgspec.field(default_factory=ReplicasSpec)
    status: ReplicasStatus = msgspec.field(default_factory=ReplicasStatus)


def _deployment(kept: Replicated, ages: Ages) -> list[Any]:
    spec, status = kept.spec, kept.status
    ready = f"{status.ready_replicas}/{spec.replicas}"
    cells = [kept.metadata.name, ready, status.updated_replicas, status.available_replicas]
    cells += [ages.since(kept.metadata.creation_timestamp), *images(spec.template.spec.containers)]
    return [*cells, selector_text(spec.selector)]


def _replica_set(kept: Replicated, ages: Ages) -> list[Any]:
    spec, status = kept.spec, kept.status
    cells = [kept.metadata.name, spec.replicas, status.replicas, status.ready_replicas]
    cells += [ages.since(kept.metadata.creation_timestamp), *images(spec.template.spec.containers)]
    return [*cells, selector(spec.selector)]


def _stateful_set(kept: Replicated, ages: Ages) -> list[Any]:
    ready = f"{kept.status.ready_replicas}/{kept.spec.replicas}"
    age = ages.since(kept.metadata.creation_timestamp)
    return [kept.metadata.name, ready, age, *images(kept.spec.template.spec.containers)]


class ControllerSpec(Fields):
    replicas: int = 1
    selector: dict[str, str] = {}
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class ReplicationController(_Object):
    spec: ControllerSpec = msgspec.field(default_factory=ControllerSpec)
    status: ReplicasStatus = msgspec.field(default_factory=ReplicasStatus)


def _replication_controller(kept: ReplicationController, ages: Ages) -> list[Any]:
    spec, status = kept.spec, kept.status
    cells = [kept.metadata.name, spec.replicas, status.replicas, status.ready_replicas]
    cells += [ages.since(kept.metadata.creation_timestamp), *images(spec.template.spec.containers)]
    return [*cells, labels(spec.selector)]


class DaemonStatus(Fields):
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0


class DaemonSet(_Object):
    spec: ReplicasSpec = msgspec.field(default_factory=ReplicasSpec)
    status: DaemonStatus = msgspec.field(default_factory=DaemonStatus)


def _daemon_set(kept: DaemonSet, ages: Ages) -> list[Any]:
    status, template = kept.status, kept.spec.template.spec
    cells = [kept.metadata.name, status.desired_number_scheduled, status.current_number_scheduled, status.number_ready]
    cells += [status.updated_number_scheduled, status.number_available, labels(template.node_selector)]
    cells += [ages.since(kept.metadata.creation_timestamp), *images(template.containers)]
    return [*cells, selector(kept.spec.selector)]


class BatchJobSpec(Fields):
    completions: int | None = None
    parallelism: int = 0
    selector: Selector | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class BatchJobStatus(Fields):
    succeeded: int = 0
    start_time: str | None = None
    completion_time: str | None = None
    conditions: list[Condition] = []


class BatchJob(_Object):
    spec: BatchJobSpec = msgspec.field(default_factory=BatchJobSpec)
    status: BatchJobStatus = msgspec.field(default_factory=BatchJobStatus)


def _job(kept: BatchJob, ages: Ages) -> list[Any]:
    cells = [kept.metadata.name, _job_status(kept), _completions(kept), _duration(kept.status, ages)]
    cells += [ages.since(kept.metadata.creation_timestamp), *images(kept.spec.template.spec.containers)]
    return [*cells, selector(kept.spec.selector)]


def _job_status(kept: BatchJob) -> str:
    conditions = kept.status.conditions
    for type in ("Complete", "Failed"):
        if condition(conditions, type) == "True":
            return type
    if kept.metadata.deletion_timestamp is not None:
        return "Terminating"
    return next((type for type in ("Suspended", "FailureTarget") if condition(conditions, type) == "True"), "Running")


def _completions(kept: BatchJob) -> str:
    spec, done = kept.spec, kept.status.succeeded
    if spec.completions is not None:
        return f"{done}/{spec.completions}"
    return f"{done}/1 of {spec.parallelism}" if spec.parallelism > 1 else f"{done}/1"


def _duration(status: BatchJobStatus, ages: Ages) -> str:
    if status.start_time is None:
        return ""
    if status.completion_time is None:
        return ages.since(status.start_time)
    began, ended = times.parse_optional(status.start_time), times.parse_optional(status.completion_time)
    return human((ended - began).total_seconds()) if began and ended else ""


class JobTemplateSpec(Fields):
    spec: BatchJobSpec = msgspec.field(default_factory=BatchJobSpec)


class CronJobSpec(Fields):
    schedule: str = ""
    time_zone: str | None = None
    suspend: bool | None = None
    job_template: JobTemplateSpec = msgspec.field(default_factory=JobTemplateSpec)


class CronJobStatus(Fields):
    active: list[Fields] = []
    last_schedule_time: str | None = None


class CronJob(_Object):
    spec: CronJobSpec = msgspec.field(default_factory=CronJobSpec)
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)


def _cron_job(kept: CronJob, ages: Ages) -> list[Any]:
    spec, status, job = kept.spec, kept.status, kept.spec.job_template.spec
    last = NONE if status.last_schedule_time is None else ages.since(status.last_schedule_time)
    zone = NONE if spec.time_zone is None else spec.time_zone
    suspended = UNSET if spec.suspend is None else str(spec.suspend)
    cells = [kept.metadata.name, spec.schedule, zone, suspended, len(status.active), last]
    return [*cells, ages.since(kept.metadata.creation_timestamp), *images(job.template.spec.containers), selector(job.selector)]


class BudgetSpec(Fields):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(Fields):
    disruptions_allowed: int = 0


class PodDisruptionBudget(_Object):
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)


def _budget(kept: PodDisruptionBudget, ages: Ages) -> list[Any]:
    bounds = ("N/A" if each is None else str(each) for each in (kept.spec.min_available, kept.spec.max_unavailable))
    return [kept.metadata.name, *bounds, kept.status.disruptions_allowed, ages.since(kept.metadata.creation_timestamp)]


_WIDE = ("Containers*", "Images*", "Selector*")
_COUNTS = ("Name", "Desired:integer", "Current:integer", "Ready:integer")
_DAEMONS = (*_COUNTS, "Up-to-date:integer", "Available:integer", "Node Selector", "Age", *_WIDE)
_CRON = ("Name", "Schedule", "Timezone", "Suspend:boolean", "Active:integer", "Last Schedule", "Age", *_WIDE)
_BUDGET = definitions("Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age")
PRINTERS = {
    ("apps", "Deployment"): Printer(
        definitions("Name", "Ready", "Up-to-date", "Available", "Age", *_WIDE), Replicated, _deployment
    ),
    ("apps", "ReplicaSet"): Printer(definitions(*_COUNTS, "Age", *_WIDE), Replicated, _replica_set),
    ("apps", "StatefulSet"): Printer(definitions("Name", "Ready", "Age", "Containers*", "Images*"), Replicated, _stateful_set),
    ("apps", "DaemonSet"): Printer(definitions(*_DAEMONS), DaemonSet, _daemon_set),
    ("", "ReplicationController"): Printer(definitions(*_COUNTS, "Age", *_WIDE), ReplicationController, _replication_controller),
    ("batch", "Job"): Printer(definitions("Name", "Status", "Completions", "Duration", "Age", *_WIDE), BatchJob, _job),
    ("batch", "CronJob"): Printer(definitions(*_CRON), CronJob, _cron_job),
    ("policy", "PodDisruptionBudget"): Printer(_BUDGET, PodDisruptionBudget, _budget),
}
