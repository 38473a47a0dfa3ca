"""The bounds of the number of workers of Horovod Elastic: those of spec.elasticPolicy, and the processes of horovodrun's flags.

Horovod obeys its flags and does not know the policy. So a policy that differs from them is reported, and the job is scaled by
hand until they agree.
"""

from __future__ import annotations

from typing import Annotated

from traincrew.kinds import autoscaling, elasticity
from traincrew.kinds.horovod import horovodrun
from traincrew.kinds.hosts import DISCOVERY_SCRIPT, slots, trains_in_launcher
from traincrew.kinds.rule import Violation, unenforced
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs

RESIZE_COST = elasticity.ResizeCost(10.0, 5.0)
NOT_ELASTIC = (
    f"the launcher's command has no host discovery script: use horovodrun --host-discovery-script {DISCOVERY_SCRIPT} "
    "with --min-np and --max-np"
)
MIN_WORKERS_DESCRIPTION = "The smallest number of workers. Default: that of horovodrun's --min-np."
MAX_WORKERS_DESCRIPTION = "The largest number of workers. Default: that of horovodrun's --max-np."


class HorovodBounds(autoscaling.WorkerBounds):
    min_replicas: Annotated[int | None, described(MIN_WORKERS_DESCRIPTION)] = None
    max_replicas: Annotated[int | None, described(MAX_WORKERS_DESCRIPTION)] = None


def elastic(job: jobs.Job) -> elasticity.Elasticity:
    if not horovodrun.is_elastic(job):
        return elasticity.Elasticity(error=NOT_ELASTIC)
    policy = job.spec.elastic_policy or autoscaling.WorkerBounds()
    min_replicas = policy.min_replicas if policy.min_replicas is not None else _least(job)
    largest = _most(job) if policy.max_replicas is None else policy.max_replicas
    max_replicas = job.requested("Worker") if largest is None else largest
    error = next((f"{found.path} {found.message}" for found in contradictions(job)), "")
    return elasticity.Elasticity(min_replicas, max_replicas, RESIZE_COST, protected_worker="oldest", error=error)


def contradictions(job: jobs.Job) -> list[Violation]:
    """Bounds of the policy that the command of the launcher does not have."""
    policy = job.spec.elastic_policy
    if policy is None or "Launcher" not in job.roles:
        return []
    if not horovodrun.is_elastic(job):
        return [unenforced("spec.elasticPolicy", f"has no effect: {NOT_ELASTIC}")]
    found = [
        _unusable(policy),
        _difference(job, "minReplicas", policy.min_replicas, horovodrun.MINIMUM, _least(job)),
        _too_many_to_start(job, policy.min_replicas),
        _difference(job, "maxReplicas", policy.max_replicas, horovodrun.MAXIMUM, _most(job)),
    ]
    return [each for each in found if each is not None]


def _unusable(policy: autoscaling.WorkerBounds) -> Violation | None:
    low, high = policy.min_replicas, policy.max_replicas
    if low is not None and low < 1:
        return unenforced("spec.elasticPolicy.minReplicas", f"is {low}: use at least 1")
    return autoscaling.inverted_bounds(low, high)


def _difference(job: jobs.Job, field: str, given: int | None, flags: tuple[str, ...], workers: int | None) -> Violation | None:
    number = horovodrun.processes(job, flags)
    if given is None or number is None or given == workers:
        return None
    message = (
        f"is {given}, but {flags[0]} {number} of horovodrun means {_count(job, workers or 0)}: make them agree, or remove one"
    )
    return unenforced(f"spec.elasticPolicy.{field}", message)


def _too_many_to_start(job: jobs.Job, min_replicas: int | None) -> Violation | None:
    """Without --min-np Horovod does not run with fewer processes than -np."""
    number = horovodrun.processes(job, horovodrun.NUMBER)
    if min_replicas is None or number is None or horovodrun.processes(job, horovodrun.MINIMUM) is not None:
        return None
    if min_replicas >= _least(job):
        return None
    wanted = (min_replicas + _launchers(job)) * max(slots(job), 1)
    message = f"is {min_replicas}, but horovodrun needs {_count(job, _least(job))} for -np {number}: add --min-np {wanted}"
    return unenforced("spec.elasticPolicy.minReplicas", message)


def _least(job: jobs.Job) -> int:
    return max(horovodrun.needed_workers(job) - _launchers(job), 1)


def _most(job: jobs.Job) -> int | None:
    largest = horovodrun.processes(job, horovodrun.MAXIMUM)
    return None if largest is None else largest // max(slots(job), 1) - _launchers(job)


def _launchers(job: jobs.Job) -> int:
    return 1 if trains_in_launcher(job) else 0


def _count(job: jobs.Job, workers: int) -> str:
    each = f" with {slots(job)} slots each" if slots(job) > 1 else ""
    return f"{workers} {'worker' if workers == 1 else 'workers'}{each}"
