"""Gang scheduling with a PodGroup for the whole job, by Volcano or by scheduler-plugins."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import quantities
from traincrew.kinds import elasticity
from traincrew.kinds.dependent import Dependent
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import jobs, objects, resources
from traincrew.model.resources import Resource
from traincrew.planner import scaling
from traincrew.planner.replicas import Replicas

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
TASK_ANNOTATION = "volcano.sh/task-spec"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's annotation about the job. On another object it would mislead `kubectl apply`."""
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
PREEMPTABLE_ANNOTATION = "volcano.sh/preemptable"


def is_volcano(scheduler: str) -> bool:
    return scheduler.lower() == "volcano"


def resource(scheduler: str) -> Resource:
    return resources.VOLCANO_POD_GROUPS if is_volcano(scheduler) else resources.PLUGINS_POD_GROUPS


def pod_groups(replicas: Replicas) -> list[Dependent]:
    scheduler = replicas.observed.planning.gang_scheduler
    if not scheduler:
        return []
    meta: Manifest = {"name": replicas.job.name}
    annotations = {key: text for key, text in replicas.job.metadata.annotations.items() if key != LAST_APPLIED}
    if annotations:
        meta["annotations"] = annotations
    return [Dependent(resource(scheduler), {"metadata": meta, "spec": _spec(replicas)}, reconciled_field="spec")]


def _existing(replicas: Replicas) -> objects.PodGroup | None:
    group: objects.PodGroup | None = replicas.observed.find(
        resource(replicas.observed.planning.gang_scheduler), replicas.job.name
    )
    return group


def _spec(replicas: Replicas) -> Manifest:
    policy = replicas.job.policy.scheduling_policy or jobs.SchedulingPolicy()
    least = policy.min_available if policy.min_available is not None else scaling.required_replicas(replicas.kind, replicas.job)
    spec: Manifest = {"minMember": least, "minResources": policy.min_resources or _least_resources(replicas.job, least)}
    if not is_volcano(replicas.observed.planning.gang_scheduler):
        if policy.schedule_timeout_seconds is not None:
            spec["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
        return spec
    annotated = replicas.job.metadata.annotations.get(QUEUE_ANNOTATION)
    existing = _existing(replicas)
    spec["queue"] = (existing and existing.spec.get("queue")) or policy.queue or annotated or "default"
    priority = policy.priority_class or _template_priority(replicas)
    if priority:
        spec["priorityClassName"] = priority
    return spec


def _template_priority(replicas: Replicas) -> str:
    """The priority class of the templates, if another controller creates the launcher."""
    if not replicas.delegates:
        return ""
    names = ((role.parsed.get("spec") or {}).get("priorityClassName") for role in replicas.job.roles.values())
    return next((str(name) for name in names if name), "")


def _least_resources(job: jobs.Job, least: int) -> dict[str, str]:
    """The requests of the first `least` pods, in the order of the roles. A limit without a request counts as a request."""
    sums: dict[str, list[str | int | float]] = {}
    left = least
    for role in job.roles.values():
        members = max(min(job.count(role.name), left), 0)
        left -= members
        for container in role.containers:
            requirements = container.get("resources") or {}
            requests: dict[str, Any] = (
                requirements["requests"] if requirements.get("requests") is not None else requirements.get("limits") or {}
            )
            for name, quantity in requests.items():
                sums.setdefault(name, []).extend([quantity] * members)
    totals = {name: _total(sums[name]) for name in sorted(sums) if sums[name]}
    return {name: total for name, total in totals.items() if total}


def _total(amounts: list[str | int | float]) -> str:
    """Empty if an amount is not a quantity: the API server rejects the pods then."""
    try:
        return quantities.add(amounts)
    except ValueError:
        return ""


def awaits_admission(replicas: Replicas) -> bool:
    """Volcano admits a PodGroup before its pods are created; its scheduler would reject earlier pods."""
    scheduler = replicas.observed.planning.gang_scheduler
    if not scheduler or not is_volcano(scheduler) or replicas.delegates:
        return False
    existing = _existing(replicas)
    return existing is None or existing.status.phase in ("", "Pending")


def join_gang(replicas: Replicas, pod: Manifest, replica: Replica) -> None:
    """Add the pod to the gang of its job. A schedulerName in the template is kept.

    If another controller creates some of the pods, the schedulerName is overridden and no task is named, as in Go.
    """
    scheduler = replicas.observed.planning.gang_scheduler
    if not scheduler:
        return
    if replicas.delegates or not pod["spec"].get("schedulerName"):
        pod["spec"]["schedulerName"] = "volcano" if is_volcano(scheduler) else scheduler
    meta = pod["metadata"]
    if is_volcano(scheduler):
        task = {} if replicas.delegates else {TASK_ANNOTATION: replica.role.label}
        preemptable = _preemptable(replicas, replica)
        meta["annotations"] = {**meta.get("annotations", {}), GROUP_ANNOTATION: replicas.job.name, **task, **preemptable}
    else:
        meta["labels"] = {**meta["labels"], GROUP_LABEL: replicas.job.name}


def _preemptable(replicas: Replicas, replica: Replica) -> dict[str, str]:
    """Volcano may preempt the workers above the smallest number of a job whose number of workers the operator chooses."""
    if elasticity.ROLE not in replicas.job.members:
        return {}
    order = sorted(replicas.job.indexes(elasticity.ROLE))
    above = replica.role.name == elasticity.ROLE and (
        order.index(replica.index) >= replicas.kind.lifecycle.elastic(replicas.job).min_replicas
    )
    return {PREEMPTABLE_ANNOTATION: "true" if above else "false"}
