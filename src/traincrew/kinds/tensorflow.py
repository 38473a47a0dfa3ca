"""TFJob: TensorFlow with chief, parameter servers, workers and evaluators, told of each other by TF_CONFIG."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from traincrew.kinds import job_from_command, validation_rules
from traincrew.kinds.condition_messages import Phrases
from traincrew.kinds.kind import Fault, JobKind, Manifest, Pods, Replica, Role, Rule, port_number, var
from traincrew.model import jobs, naming

CONTAINER = "tensorflow"
PORT = ("tfjob-port", 2222)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="tfReplicaSpecs", default=None)
    success_policy: str | None = None
    enable_dynamic_worker: bool = False


def env(replica: Replica) -> list[Manifest]:
    if replica.job.total == 1:
        return []  # a local job: TensorFlow would wait for a cluster of one
    if replica.job.spec.enable_dynamic_worker:
        config: dict[str, Any] = {"cluster": _sparse(replica), "task": _task(replica)}
    else:
        config = {"cluster": _dense(replica), "task": _task(replica), "environment": "cloud"}
    return [var("TF_CONFIG", json.dumps(config, separators=(",", ":")))]


def _task(replica: Replica) -> dict[str, Any]:
    return {"type": replica.role.label, "index": replica.index}


def _addresses(replica: Replica, role: str) -> list[str]:
    job = replica.job
    port = port_number(job, role, CONTAINER, PORT)
    found = []
    for index in range(job.count(role)):
        host = naming.service_host(naming.replica(job.name, role, index), job.namespace, replica.planning.cluster_domain)
        found.append(f"{host}:{job.port(role, index) or port}")
    return found


def _dense(replica: Replica) -> dict[str, list[str]]:
    return {role.lower(): _addresses(replica, role) for role in sorted(replica.job.roles, key=str.lower)}


def _sparse(replica: Replica) -> dict[str, Any]:
    """Each worker knows itself and the parameter servers only, so that workers may come and go."""
    if replica.role.name == "Worker":
        own = _addresses(replica, "Worker")[replica.index]
        servers = _addresses(replica, "PS") if "PS" in replica.job.roles else None
        return {"worker": {str(replica.index): own}, "ps": servers}
    return {
        "worker": {},
        "ps": [_addresses(replica, "PS")[replica.index]] if replica.role.name == "PS" else [],
    }


def succeeded(job: jobs.Job, pods: Pods) -> bool:
    leaders = KIND.leading(job)
    if leaders != ("Worker",):
        return all(_all_succeeded(job, pods, role) for role in leaders)
    return _all_succeeded(job, pods, "Worker") or (
        job.spec.success_policy != "AllWorkers" and any(_is_first_and_done(job, pod) for pod in pods.get("Worker", ()))
    )


def _all_succeeded(job: jobs.Job, pods: Pods, role: str) -> bool:
    done = sum(pod.status.phase == "Succeeded" for pod in pods.get(role, ()))
    return done >= job.count(role) > 0


def _is_first_and_done(job: jobs.Job, pod: Any) -> bool:
    if pod.name != naming.replica(job.name, "Worker", 0) or pod.status.phase != "Succeeded":
        return False
    states = [status.state.terminated for status in pod.status.container_statuses if status.name == CONTAINER]
    return all(state is not None and state.exit_code == 0 for state in states)


def validate(job: jobs.Job) -> list[Fault]:
    leaders = [entry for role in ("Chief", "Master") for entry in validation_rules.entries(KIND, job, role)]
    if len(leaders) > 1:
        message = "must not have more than 1 Chief or Master role"
        return [Fault(path="spec.tfReplicaSpecs", message=message, type="Forbidden")]
    return []


def advise(job: jobs.Job) -> list[Fault]:
    policy = job.spec.success_policy
    if policy in (None, "", "AllWorkers"):
        return []
    message = f"{policy!r} is taken for the default, which is the chief's or worker 0's success; the only other is AllWorkers"
    return [Fault(path="spec.successPolicy", message=message, server=False)]


def sketch(wish: job_from_command.Wish) -> job_from_command.Sketch:
    return job_from_command.Sketch(
        (job_from_command.Part("Worker", wish.workers, wish.command),), {"enableDynamicWorker": True} if wish.elastic else {}
    )


PHRASES = Phrases(
    running="{kind} {namespace}/{name} is running.",
    succeeded="{kind} {namespace}/{name} successfully completed.",
    failed="{kind} {namespace}/{name} has failed because {count} {role} replica(s) failed.",
)

KIND = JobKind(
    kind="TFJob",
    plural="tfjobs",
    framework="tensorflow",
    spec=Spec,
    replicas_field="tfReplicaSpecs",
    roles=(Role("Chief"), Role("Evaluator"), Role("Master"), Role("PS"), Role("Worker")),
    leaders=("Chief", "Master", "Worker"),
    container=CONTAINER,
    port=PORT,
    env=env,
    env_in="main",
    succeeded=succeeded,
    tolerates=lambda job, role: bool(job.spec.enable_dynamic_worker) and role == "Worker",
    fixed_crew=lambda job: not job.spec.enable_dynamic_worker,
    phrases=lambda job: PHRASES,
    validate=validate,
    advise=advise,
    open_roles=True,
    sketch=sketch,
    schema={"successPolicy": {"type": "string"}, "enableDynamicWorker": {"type": "boolean"}},
    rules=(
        Rule(
            at="replicas",
            cel="self.filter(k, k.lowerAscii() == 'chief' || k.lowerAscii() == 'master').size() <= 1",
            message="must not have more than 1 Chief or Master role",
        ),
    ),
)
