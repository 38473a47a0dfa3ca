"""The elastic jobs in the snapshot that a decision reads, from the stores of the operator."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from traincrew import settings
from traincrew.kinds import elasticity, pod_templates
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Manifest, Replica, Role
from traincrew.model import jobs, naming, objects
from traincrew.model.meta import Time
from traincrew.model.observed import RejectedWrite
from traincrew.planner import scaling
from traincrew.planner.scaling import Scaling
from traincrew.scheduling import objects as scheduling_objects
from traincrew.scheduling import pod_info
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import ElasticJob, Member, QueuedWorkload

AUTOSCALER, QUEUED = "Autoscaler", "Queue"
"""Reasons for which a job gets no idle capacity."""
_PLANNING = settings.Planning()
INSTALL = "install it with sharing.enabled=true (Helm) or apply manifests/sharing"


class QueueAdmission(NamedTuple):
    """What is known of the workers on idle capacity of a job in a queue of Kueue."""

    workloads: Mapping[int, QueuedWorkload]
    """By index of the worker."""
    error: str = ""
    """Why Kueue cannot be asked."""


class JobSurroundings(NamedTuple):
    """What the stores of the operator know about a job."""

    pods: tuple[PodInfo, ...]
    """Of the job."""
    autoscalers: Iterable[objects.Autoscaler]
    """All of them."""
    rejected: Mapping[str, RejectedWrite]
    """The pods of the job that the API server rejected, by name."""
    admission: QueueAdmission | None = None
    """Of a job in a queue of Kueue."""


def elastic_job(kind: JobKind, stored: jobs.JobObject[Any], known: JobSurroundings) -> ElasticJob | None:
    """None: the operator does not choose its workers."""
    kind = kind.following(stored)
    job = kind.job(stored)
    request = scaling.of(kind, job)
    if request is None or request.error or job.status.finished or job.suspended or job.metadata.deletion_timestamp is not None:
        return None
    recorded = frozenset(job.members.get(elasticity.ROLE, range(request.wanted)))
    workers = _workers(job, known.pods)
    members = _members(recorded, workers, request.wanted)
    removed_members = tuple(_member(index, pod) for index, pod in sorted(workers.items()) if index not in recorded)
    worker_template = next((pod for pod in workers.values() if not pod.terminating), None) or pod_of(kind, job, elasticity.ROLE)
    idle = request.mode == elasticity.IDLE
    reason, autoscaler = _no_idle_capacity(kind, job, request, known) if idle else ("", "")
    bounds, prefix = request.elasticity, _worker_prefix(job)
    return ElasticJob(
        uid=job.metadata.uid,
        reference=f"{kind.kind} {job}",
        worker_template=_unscheduled(worker_template),
        min_replicas=bounds.min_replicas,
        wanted=request.wanted,
        max_replicas=bounds.max_replicas,
        uses_idle_capacity=idle and not autoscaler,
        sizes=request.sizes,
        weight=request.weight,
        priority=max((pod.spec.priority for pod in workers.values() if not _is_surplus(pod)), default=0),
        cost=bounds.cost,
        protected_worker=bounds.protected_worker,
        members=members,
        removed_members=removed_members,
        launchers=_launchers(kind, job, known.pods),
        running=job.status.is_true("Running"),
        last_resize_at=_last_resize_at(job),
        rejections={int(name.removeprefix(prefix)): why for name, why in known.rejected.items() if name.startswith(prefix)},
        no_idle_message=autoscaler,
        no_idle_reason=reason,
        workloads=known.admission.workloads if known.admission is not None else None,
    )


def worker_indexes(kind: JobKind, stored: jobs.JobObject[Any], pods: Iterable[PodInfo]) -> frozenset[int]:
    """The indexes of the workers that have pods. pods: of the job."""
    return frozenset(_workers(kind.following(stored).job(stored), pods))


def _last_resize_at(job: jobs.Job) -> Time | None:
    elastic = job.status.elastic
    return elastic.last_resize.at if elastic is not None and elastic.last_resize is not None else None


def pod_name(job: jobs.Job, role: Role, index: int = 0) -> str:
    return Replica(job, role, index, _PLANNING).name


def _worker_prefix(job: jobs.Job) -> str:
    return naming.replica(job.name, elasticity.ROLE, 0).removesuffix("0")


def _workers(job: jobs.Job, pods: Iterable[PodInfo]) -> dict[int, PodInfo]:
    prefix = _worker_prefix(job)
    found = ((pod.metadata.name.removeprefix(prefix), pod) for pod in pods if pod.metadata.name.startswith(prefix))
    return {int(text): pod for text, pod in found if text.isdecimal()}


def _launchers(kind: JobKind, job: jobs.Job, pods: Iterable[PodInfo]) -> tuple[PodInfo, ...]:
    """Pods that start the others. That of a batch Job is not among them: its deletion would be charged to the Job."""
    names = {pod_name(job, role) for role in kind.roles if not role.indexed and not role.delegated}
    return tuple(pod for pod in pods if pod.metadata.name in names)


def _members(recorded: frozenset[int], workers: Mapping[int, PodInfo], wanted: int) -> tuple[Member, ...]:
    """Workers without a pod are those that the job asks for, as far as it asks for so many."""
    found = [_member(index, workers.get(index)) for index in sorted(recorded)]
    asked = wanted - sum(each.pod is not None and not each.surplus for each in found)
    missing = [each.index for each in found if each.pod is None]
    beyond = missing[max(asked, 0) :]
    return tuple(dataclasses.replace(each, surplus=True) if each.index in beyond else each for each in found)


def _member(index: int, pod: PodInfo | None) -> Member:
    if pod is None:
        return Member(index)
    started = pod.status.start_time or pod.created
    return Member(index, pod, _is_surplus(pod), started if pod.status.phase == "Running" else None)


def _is_surplus(pod: PodInfo) -> bool:
    return naming.SURPLUS in pod.metadata.labels


def _unscheduled(pod: PodInfo) -> PodInfo:
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return dataclasses.replace(pod, spec=spec, status=scheduling_objects.PodStatus())


def pod_of(kind: JobKind, job: jobs.Job, role_name: str) -> PodInfo:
    """A pod of this role as the API server would store it."""
    body = pod_manifest(kind, job, role_name)
    body["metadata"] |= {"name": job.name, "namespace": job.namespace, "uid": job.metadata.uid}
    return pod_info.decode(msgspec.json.encode({"metadata": body["metadata"], "spec": body["spec"]}))


def pod_manifest(kind: JobKind, job: jobs.Job, role_name: str) -> Manifest:
    """Metadata and spec of a pod of this role. Limits without requests become requests, as in the API server."""
    role = next(role for role in kind.roles if role.name == role_name)
    body = pod_templates.build(kind, Replica(job, role, 0, _PLANNING))
    for container in [*body["spec"].get("initContainers", []), *body["spec"]["containers"]]:
        _default_requests(container)
    return body


def _default_requests(container: Manifest) -> None:
    resources = container.get("resources") or {}
    container["resources"] = {**resources, "requests": {**(resources.get("limits") or {}), **(resources.get("requests") or {})}}


def _no_idle_capacity(kind: JobKind, job: jobs.Job, request: Scaling, known: JobSurroundings) -> tuple[str, str]:
    """Why another controller chooses the number of workers: one word, and a sentence with the remedy."""
    for each in known.autoscalers:
        target = each.spec.get("scaleTargetRef") or {}
        if each.metadata.namespace == job.namespace and (target.get("kind"), target.get("name")) == (kind.kind, job.name):
            name = f"HorizontalPodAutoscaler {each.metadata.name}"
            return AUTOSCALER, f"{name} chooses replicas: delete it, or use {elasticity.YIELD}"
    if known.admission is not None and known.admission.error:
        remedy = f"{INSTALL}, or use {elasticity.YIELD}"
        error = f"{known.admission.error}: {remedy}"
        return QUEUED, f"Kueue admits the job with {request.wanted} workers, and cannot admit more: {error}"
    if request.elasticity.metrics_field:
        field = request.elasticity.metrics_field
        return AUTOSCALER, f"{field} lets an autoscaler choose replicas: remove it, or use {elasticity.YIELD}"
    return "", ""
