"""TFJob: TensorFlow with chief, parameter servers, workers and evaluators, which find each other through TF_CONFIG."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from traincrew.kinds import job_from_command, violations
from traincrew.kinds.condition_messages import ConditionMessages
from traincrew.kinds.kind import JobKind, Lifecycle, PodConfig, Reporting, Validation
from traincrew.kinds.other_operators import TRAINING_OPERATOR, OtherOperator
from traincrew.kinds.replica import Env, PodsByRole, Replica, Role, all_succeeded, port_number
from traincrew.kinds.rule import Rule, Violation, unenforced
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, naming, objects

CONTAINER = "tensorflow"
PORT = ("tfjob-port", 2222)
TF_OPERATOR = OtherOperator("tf-job-operator", "name=tf-job-operator", ("tf-operator", "tf-operator.v1", "tf-operator.v1beta2"))
SUCCESS = "When the job succeeds: with its chief, its master or else worker 0 (default), or with AllWorkers."
DYNAMIC = "If true, the number of workers may change while the job runs. A worker knows the parameter servers and itself."


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="tfReplicaSpecs", default=None)
    success_policy: Annotated[str | None, described(SUCCESS)] = None
    enable_dynamic_worker: Annotated[bool, described(DYNAMIC)] = False


def env(replica: Replica) -> Env:
    if replica.job.total == 1:
        return {}  # a local job: with TF_CONFIG TensorFlow would wait for a cluster of one
    if replica.job.spec.enable_dynamic_worker:
        config: dict[str, Any] = {"cluster": _sparse(replica), "task": _task(replica)}
    else:
        config = {"cluster": _dense(replica), "task": _task(replica), "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(config, separators=(",", ":"))}


def _task(replica: Replica) -> dict[str, Any]:
    return {"type": replica.role.label, "index": replica.index}


def _addresses(replica: Replica, role: str) -> list[str]:
    job = replica.job
    port = port_number(job, role, CONTAINER, PORT)
    addresses = []
    for index in job.indexes(role):
        host = naming.service_host(naming.replica(job.name, role, index), job.namespace, replica.planning.cluster_domain)
        addresses.append(f"{host}:{job.port(role, index) or port}")
    return addresses


def _dense(replica: Replica) -> dict[str, list[str]]:
    return {role.lower(): _addresses(replica, role) for role in sorted(replica.job.roles, key=str.lower)}


def _sparse(replica: Replica) -> dict[str, Any]:
    """Each worker knows only itself and the parameter servers, so that workers can be added and removed."""
    if replica.role.name == "Worker":
        own = _addresses(replica, "Worker")[replica.index]
        servers = _addresses(replica, "PS") if "PS" in replica.job.roles else None
        return {"worker": {str(replica.index): own}, "ps": servers}
    return {
        "worker": {},
        "ps": [_addresses(replica, "PS")[replica.index]] if replica.role.name == "PS" else [],
    }


def succeeded(job: jobs.Job, pods: PodsByRole, leading: Sequence[str]) -> bool:
    if all(all_succeeded(job, pods, role) for role in leading):
        return True
    if tuple(leading) != ("Worker",) or job.spec.success_policy == "AllWorkers":
        return False
    return any(_is_first_worker_succeeded(job, pod) for pod in pods.get("Worker", ()))


def _is_first_worker_succeeded(job: jobs.Job, pod: objects.Pod) -> bool:
    if pod.name != naming.replica(job.name, "Worker", 0) or pod.status.phase != "Succeeded":
        return False
    states = [status.state.terminated for status in pod.status.container_statuses if status.name == CONTAINER]
    return all(state is not None and state.exit_code == 0 for state in states)


def _two_leaders(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    leaders = [entry for role in ("Chief", "Master") for entry in violations.entries(kind, job, role)]
    if len(leaders) > 1:
        message = "must not have more than 1 Chief or Master role"
        yield Violation(path="spec.tfReplicaSpecs", message=message)


def advise(job: jobs.Job) -> list[Violation]:
    policy = job.spec.success_policy
    if policy in (None, "", "AllWorkers"):
        return []
    message = f"{policy!r} is treated as the default (success of the chief or of worker 0); the only other value is AllWorkers"
    return [unenforced("spec.successPolicy", message)]


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    if request.idle:
        raise job_from_command.NotElastic  # its replicas do not adapt by themselves
    return job_from_command.elastic_workers(request, {"enableDynamicWorker": True} if request.elastic else {})


MESSAGES = ConditionMessages(
    running="{kind} {namespace}/{name} is running.",
    succeeded="{kind} {namespace}/{name} successfully completed.",
    failed="{kind} {namespace}/{name} has failed because {count} {role} replica(s) failed.",
)

KIND = JobKind(
    kind="TFJob",
    framework="tensorflow",
    modules=("tensorflow", "keras"),
    spec=Spec,
    roles=(Role("Chief"), Role("Evaluator", computes=False), Role("Master"), Role("PS", prints=False), Role("Worker")),
    leaders=("Chief", "Master", "Worker"),
    other_operators=(TRAINING_OPERATOR, TF_OPERATOR),
    pods=PodConfig(env, CONTAINER, PORT, env_in="main"),
    lifecycle=Lifecycle(
        succeeded=succeeded,
        tolerates_failure=lambda job, role: bool(job.spec.enable_dynamic_worker) and role == "Worker",
        fixed_size=lambda job: not job.spec.enable_dynamic_worker,
    ),
    reporting=Reporting(messages=lambda job: MESSAGES),
    validation=Validation(
        rules=(
            Rule(
                at="replicas",
                cel="self.filter(k, k.lowerAscii() == 'chief' || k.lowerAscii() == 'master').size() <= 1",
                message="must not have more than 1 Chief or Master role",
                check=_two_leaders,
            ),
        ),
        advise=advise,
        open_roles=True,
    ),
    from_command=from_command,
)
