"""Whether and how the number of workers of a job can be changed. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.inspection import pod_waiting_reasons
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds import autoscaling, elasticity, job_warnings
from traincrew.kinds.kind import JobKind
from traincrew.model import naming
from traincrew.model.jobs import Job
from traincrew.planner import scaling

ROLE = "Worker"


class ScalePatch(NamedTuple):
    body: bytes
    subresource: str


def patch(kind: JobKind, raw: bytes, job: ObservedJob, replicas: int) -> ScalePatch:
    """The merge patch that sets the number of workers. Raise SettingsError if the job has none."""
    key = _role_key(msgspec.json.decode(raw), job)
    if kind.crd.scalable and key == ROLE:  # /scale requires the canonical spelling of the role
        return ScalePatch(msgspec.json.encode({"spec": {"replicas": replicas}}), "scale")
    return ScalePatch(msgspec.json.encode({"spec": {kind.replicas_field: {key: {"replicas": replicas}}}}), "")


def objection(job: ObservedJob, replicas: int) -> str:
    """Why the job should not be scaled; empty if it may be. The sentence begins with the verb."""
    return _outside_limits(job, replicas) or _not_elastic(job, replicas)


def mode_error(job: ObservedJob, mode: str) -> str:
    """Why the operator cannot choose the number of workers, with the remedy; empty if it can."""
    request = _with_mode(job, mode)
    return request.error if request is not None else ""


def range_of(job: ObservedJob, mode: str) -> str:
    """The numbers of workers among which the operator chooses in the mode."""
    request = _with_mode(job, mode)
    if request is None:
        wanted = job.job.requested(ROLE)
        return f" ({wanted} {'worker' if wanted == 1 else 'workers'})"
    max_replicas = request.elasticity.max_replicas if mode == elasticity.IDLE else request.wanted
    return f" ({request.elasticity.min_replicas} to {max_replicas} workers)"


def mode_advice(job: ObservedJob, mode: str) -> list[str]:
    """What is probably a mistake in the mode, and was not before. Whole sentences with the remedy."""
    changed = _changed(job, mode)
    known = {(each.path, each.message) for each in job_warnings.of_job(job.kind, job.job)}
    found = [each for each in job_warnings.of_job(job.kind, changed) if (each.path, each.message) not in known]
    advice = [f"{each.path} {each.message}." for each in found]
    was_manual = not elasticity.is_automatic(job.job) and elasticity.is_automatic(changed)
    at_start = job.kind.lifecycle.elastic(changed).set_at_start if was_manual else ""
    if at_start and any(not pod.finished for pod in job.pods):
        remedy = f"run `traincrew suspend {job.reference}` and `traincrew resume {job.reference}`"
        advice.append(f"Pods that run keep their settings: {at_start} only in pods that start now. To start all again, {remedy}.")
    return advice


def _with_mode(job: ObservedJob, mode: str) -> scaling.Scaling | None:
    return scaling.of(job.kind, _changed(job, mode))


def _changed(job: ObservedJob, mode: str) -> Job:
    annotations = {**job.job.metadata.annotations, naming.SCALING: mode}
    meta = msgspec.structs.replace(job.job.metadata, annotations=annotations)
    return dataclasses.replace(job.job, metadata=meta)


def _role_key(manifest: dict[str, Any], job: ObservedJob) -> str:
    """The key of the workers as the manifest spells it."""
    for key in manifest["spec"].get(job.kind.replicas_field) or ():
        if key.lower() == ROLE.lower():
            return str(key)
    raise errors.UnsuitableState(f"{job.reference} has no workers to scale")


def _outside_limits(job: ObservedJob, replicas: int) -> str:
    policy = getattr(job.job.spec, "elastic_policy", None)
    if policy is None:
        return ""
    found = job.kind.lifecycle.elastic(job.job)
    low, high = (found.min_replicas, found.max_replicas) if found.max_replicas else autoscaling.bounds(job.job, policy)
    return f"allows {low} to {high} workers by its elastic policy, not {replicas}." if not low <= replicas <= high else ""


def _not_elastic(job: ObservedJob, replicas: int) -> str:
    """Why the running pods cannot adapt to the new number; empty if they can."""
    running = [pod for pod in job.pods if not pod.finished and not pod.terminating]
    if not running or replicas == job.job.requested(ROLE) or not job.kind.lifecycle.fixed_size(job.job):
        return ""
    return (
        f"is not elastic: its {len(running)} running pods expect {job.job.total} replicas and cannot adapt. Run "
        f"`traincrew suspend {job.reference}`, scale, then `traincrew resume {job.reference}` to restart it with {replicas} "
        f"workers{other_roles(job)}."
    )


def ending(job: ObservedJob, replicas: int) -> str:
    """The workers that end with a smaller number, which the operator does not choose. Empty: none, or it does."""
    workers = [pod for pod in job.pods if pod.active and pod.metadata.labels.get(naming.REPLICA_TYPE) == ROLE.lower()]
    indices = ((int(pod.metadata.labels.get(naming.REPLICA_INDEX, 0)), pod) for pod in workers)
    names = [job.replica(pod) for index, pod in sorted(indices, key=lambda each: each[0]) if index >= replicas]
    if not names or elasticity.is_automatic(job.job) or job.job.suspended:
        return ""
    return f"scaling to {replicas}: {pod_waiting_reasons.abbreviate(names)} {'ends' if len(names) == 1 else 'end'}"


def effect(job: ObservedJob, replicas: int) -> str:
    """When the program has the new number of workers. Empty: when its pods have started or ended, or the job does not run."""
    before, lifecycle = job.job.requested(ROLE), job.kind.lifecycle
    if replicas == before or job.job.suspended or lifecycle.fixed_size(job.job):
        return ""
    if pause := lifecycle.removal_pause_seconds(job.job, len(job.pods), False):
        return _effect_on_torchrun(pause, grows=replicas > before)
    drain = lifecycle.drain_seconds(job.job)
    if drain and replicas > before and (most := _most(job, replicas)) < replicas:
        return f"Horovod uses at most {most} of them: that is the limit in the command of the launcher."
    return _effect_on_horovod(drain, begun=job.state == "Running", grows=replicas > before) if drain else ""


def _most(job: ObservedJob, replicas: int) -> int:
    """The largest number of workers of the program. Without a limit it is the number in the spec, here `replicas`."""
    workers = dataclasses.replace(job.job.roles[ROLE], replicas=replicas)
    scaled = dataclasses.replace(job.job, roles={**job.job.roles, ROLE: workers})
    return job.kind.lifecycle.elastic(scaled).max_replicas


def _effect_on_torchrun(pause: float, *, grows: bool) -> str:
    if grows:
        return "When the new pods run, torchrun starts the program again on all workers."
    return (
        f"Workers are removed {pause:g} s after the start of the last one; torchrun then starts the program again on the others."
    )


def _effect_on_horovod(drain: float, *, begun: bool, grows: bool) -> str:
    if not begun:
        return "Horovod has not started: it starts with the workers that are ready, and adds the others when they are ready."
    if grows:
        return "When the pod of a new worker is ready, Horovod adds the worker at the next commit of the program."
    return f"At its next commit the program continues without the removed workers. Their pods are deleted {drain:g} s later."


def other_roles(job: ObservedJob) -> str:
    others = [f"{job.job.count(role)} {role}" for role in job.job.roles if role != ROLE]
    return f" (plus {', '.join(others)})" if others else ""
