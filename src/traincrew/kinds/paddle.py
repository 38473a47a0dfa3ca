"""PaddleJob: PaddlePaddle, collective (workers only) or with parameter servers (a master)."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.kinds import autoscaling, job_from_command
from traincrew.kinds.condition_messages import PLAIN, QUALIFIED
from traincrew.kinds.kind import Desired, JobKind, Manifest, Replica, Role, port_number, var
from traincrew.model import jobs, naming, resources
from traincrew.model.meta import Struct
from traincrew.model.observed import Observed

CONTAINER = "paddle"
PORT = ("master", 36543)


class ElasticPolicy(Struct):
    min_replicas: int | None = None
    max_replicas: int | None = None
    max_restarts: int | None = None
    metrics: list[dict[str, Any]] | None = None


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="paddleReplicaSpecs", default=None)
    elastic_policy: ElasticPolicy | None = None


def env(replica: Replica) -> list[Manifest]:
    job = replica.job
    (role,) = KIND.leading(job)
    port = port_number(job, role, CONTAINER, PORT)
    found = [var("PYTHONUNBUFFERED", 1), var("PADDLE_JOB_ID", job.name), var("PADDLE_NNODES", job.total)]
    if replica.role.name == role and replica.index == 0:
        # The rendezvous host binds its own address; its service name may not resolve yet.
        found.append({"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        found.append(var("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}"))
    else:
        found.append(var("PADDLE_MASTER", f"{naming.replica(job.name, role, 0)}:{port}"))
    if role == "Master":
        found.append(var("PADDLE_SERVER_NUM" if replica.role.name == "Master" else "PADDLE_TRAINER_NUM", 1))
    return found


def extras(job: jobs.Job, observed: Observed) -> list[Desired]:
    return autoscaling.autoscalers(KIND.kind, job, job.spec.elastic_policy, observed)


def sketch(wish: job_from_command.Wish) -> job_from_command.Sketch:
    spec = {} if wish.elastic is None else {"elasticPolicy": {"minReplicas": wish.elastic[0], "maxReplicas": wish.elastic[1]}}
    return job_from_command.Sketch((job_from_command.Part("Worker", wish.workers, wish.command),), spec)


INT32 = {"type": "integer", "format": "int32"}

KIND = JobKind(
    kind="PaddleJob",
    plural="paddlejobs",
    framework="paddle",
    spec=Spec,
    replicas_field="paddleReplicaSpecs",
    roles=(Role("Master", restart_policy="OnFailure"), Role("Worker", restart_policy="OnFailure")),
    leaders=("Master", "Worker"),
    container=CONTAINER,
    port=PORT,
    env=env,
    extras=extras,
    fixed_crew=lambda job: job.spec.elastic_policy is None,
    makes=(resources.AUTOSCALERS,),
    phrases=lambda job: PLAIN if "Master" in job.roles else QUALIFIED,
    ttl_event="SuccessfulDeletePod",
    sketch=sketch,
    scalable=True,
    schema={
        "elasticPolicy": {
            "type": "object",
            "properties": {
                "minReplicas": INT32,
                "maxReplicas": INT32,
                "maxRestarts": INT32,
                "metrics": {"type": "array", "items": {"$ref": "MetricSpec"}},
            },
        },
    },
)
