"""A role whose pod is created by the controller of batch Jobs. The end of the batch Job is the end of the job."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew.kinds import pod_templates
from traincrew.kinds.dependent import Dependent
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import objects, resources
from traincrew.model.meta import Time
from traincrew.planner import elastic_members, gang
from traincrew.planner.actions import Patch
from traincrew.planner.replicas import Replicas

BATCH_BACKOFF_LIMIT = 6
"""The API server sets it in a batch Job that has none."""


@dataclasses.dataclass(frozen=True)
class DelegatedOutcome:
    """The result of a job."""

    succeeded: bool
    reason: str = ""
    message: str = ""
    time: Time | None = None


def dependents(replicas: Replicas) -> list[Dependent]:
    """The batch Job to create, if there is a delegated role without one that does not have to wait."""
    replica, existing = _replica(replicas), _existing(replicas)
    if replica is None or existing is not None or _waits(replicas):
        return []
    template = pod_templates.build(replicas.kind, replica)
    gang.join_gang(replicas, template, replica)
    elastic_members.prefer_steady_nodes(replicas, replica, template)
    return [Dependent(resources.BATCH_JOBS, {"metadata": {"name": replica.name}, "spec": _job_spec(replicas, template)})]


def _replica(replicas: Replicas) -> Replica | None:
    return next((replicas.replica(role.name) for role in replicas.kind.roles if role.delegated), None)


def _existing(replicas: Replicas) -> objects.BatchJob | None:
    replica = _replica(replicas)
    return replicas.observed.find(resources.BATCH_JOBS, replica.name) if replica is not None else None


def is_awaited(replicas: Replicas) -> bool:
    """Whether the batch Job neither exists nor is created now."""
    return _existing(replicas) is None and _waits(replicas)


def has_run(replicas: Replicas) -> bool:
    """Whether the job was running until the pod of its delegated role ended."""
    pods = dict(replicas.by_role)
    for role in (role for role in replicas.kind.roles if role.delegated):
        pods[role.name] = [_before_its_end(pod) for pod in replicas.delegated_pods if _ran(pod)]
    return replicas.kind.lifecycle.running(replicas.job, pods, replicas.kind.leading(replicas.job))


def _ran(pod: objects.Pod) -> bool:
    """Whether a container of an ended pod was started. Without states of containers a pod that nobody rejected counts as run."""
    terminated = [status.state.terminated for status in pod.status.container_statuses]
    started = any(state is not None for state in terminated)
    return pod.finished and (started or (not terminated and not pod.status.reason))


def _before_its_end(pod: objects.Pod) -> objects.Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Running"))


def _waits(replicas: Replicas) -> bool:
    return not replicas.job.suspended and replicas.kind.lifecycle.delegate_waits(replicas.job, replicas.observed)


def _job_spec(replicas: Replicas, template: Manifest) -> Manifest:
    policy = replicas.job.policy
    limits = {
        "ttlSecondsAfterFinished": policy.ttl_seconds_after_finished,
        "activeDeadlineSeconds": policy.active_deadline_seconds,
        "backoffLimit": policy.backoff_limit,
        "podReplacementPolicy": "Failed",
        "suspend": True if replicas.job.suspended else None,
    }
    return {**{name: value for name, value in limits.items() if value is not None}, "template": template}


def patches(replicas: Replicas) -> list[Patch]:
    replica, existing = _replica(replicas), _existing(replicas)
    if replica is None or existing is None or existing.finished or _waits(replicas):
        return []
    if existing.spec.suspend != replicas.job.suspended:
        return _suspension(replicas, replica, existing)
    changed = _changed_limits(replicas, existing.spec)
    return [Patch(resources.BATCH_JOBS, replica.name, {"spec": changed})] if changed else []


def _suspension(replicas: Replicas, replica: Replica, existing: objects.BatchJob) -> list[Patch]:
    """Suspend or resume the existing batch Job. Its start time is reset first: otherwise its template could not be changed."""
    if replicas.job.suspended:
        return [Patch(resources.BATCH_JOBS, replica.name, {"spec": {"suspend": True}})]
    template = _scheduling_directives(pod_templates.build(replicas.kind, replica), existing)
    resume = Patch(resources.BATCH_JOBS, replica.name, {"spec": {"suspend": False, "template": template}})
    if existing.status.start_time is None:
        return [resume]
    return [Patch(resources.BATCH_JOBS, replica.name, {"status": {"startTime": None}}, "status"), resume]


def _changed_limits(replicas: Replicas, spec: objects.BatchJobSpec) -> Manifest:
    """Limits of the job that were changed after the batch Job was created. None: not limited, and the default of batch Jobs."""
    policy, changed = replicas.job.policy, {}
    if spec.active_deadline_seconds != policy.active_deadline_seconds:
        changed["activeDeadlineSeconds"] = policy.active_deadline_seconds
    default = spec.backoff_limit is None or spec.backoff_limit == BATCH_BACKOFF_LIMIT
    if spec.backoff_limit != policy.backoff_limit and not (policy.backoff_limit is None and default):
        changed["backoffLimit"] = policy.backoff_limit
    return changed


def _scheduling_directives(template: Manifest, existing: objects.BatchJob) -> Manifest:
    """The fields of a suspended Job that a queueing system may have changed and that may be updated.

    The result is a merge patch: a node selector that is left over from an earlier admission becomes null. Labels are never
    removed, since some of them belong to other controllers.
    """
    spec, meta = template.get("spec") or {}, template.get("metadata") or {}
    selector = spec.get("nodeSelector") or {}
    stale = sorted(existing.spec.template.spec.node_selector.keys() - selector.keys())
    return {
        "metadata": {key: meta[key] for key in ("labels", "annotations") if key in meta},
        "spec": {
            "nodeSelector": {**dict.fromkeys(stale), **selector},
            **{key: spec.get(key) for key in ("tolerations", "schedulingGates")},
        },
    }


def outcome(replicas: Replicas) -> DelegatedOutcome | None:
    """The result that the batch Job reports. None: it has not ended."""
    batch_job = _existing(replicas)
    if batch_job is None:
        return None
    if batch_job.condition("Complete"):
        return DelegatedOutcome(True, time=batch_job.status.completion_time)
    failed = batch_job.condition("Failed")
    if failed is None:
        return None
    kind = replicas.kind.kind
    reason, message = failed.reason or f"{kind}Failed", failed.message or f"{kind} {replicas.job} has failed"
    if failed.reason == "BackoffLimitExceeded":
        pod = _last_failed_pod(replicas)
        if pod is not None and pod.status.reason:
            reason, message = f"{reason}/{pod.status.reason}", f"{message}: {pod.status.message}"[:1024]
    return DelegatedOutcome(False, reason, message)


def _last_failed_pod(replicas: Replicas) -> objects.Pod | None:
    failed = [pod for pod in replicas.delegated_pods if pod.status.phase == "Failed"]
    return max(failed, key=lambda pod: (str(pod.metadata.creation_timestamp), pod.name), default=None)
