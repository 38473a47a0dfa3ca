"""PaddleJob: PaddlePaddle, collective (workers only) or with parameter servers (a master)."""

from __future__ import annotations

import msgspec

from traincrew.kinds import autoscaling, job_from_command
from traincrew.kinds.condition_messages import PLAIN, QUALIFIED
from traincrew.kinds.kind import CRD, JobKind, Lifecycle, PodConfig, Reporting
from traincrew.kinds.replica import Manifest, Replica, Role, env_var, port_number
from traincrew.kinds.spec_schema import Metric
from traincrew.model import jobs, naming
from traincrew.model.meta import Struct

CONTAINER = "paddle"
PORT = ("master", 36543)


class ElasticPolicy(Struct):
    min_replicas: int | None = None
    max_replicas: int | None = None
    max_restarts: int | None = None
    metrics: list[Metric] | None = None


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="paddleReplicaSpecs", default=None)
    elastic_policy: ElasticPolicy | None = None


def env(replica: Replica) -> list[Manifest]:
    job = replica.job
    (role,) = KIND.leading(job)
    port = port_number(job, role, CONTAINER, PORT)
    variables = [env_var("PYTHONUNBUFFERED", 1), env_var("PADDLE_JOB_ID", job.name), env_var("PADDLE_NNODES", job.total)]
    if replica.role.name == role and replica.index == 0:
        # The rendezvous host binds its own address; its service name may not resolve yet.
        variables.append({"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        variables.append(env_var("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}"))
    else:
        variables.append(env_var("PADDLE_MASTER", f"{naming.replica(job.name, role, 0)}:{port}"))
    if role == "Master":
        variables.append(env_var("PADDLE_SERVER_NUM" if replica.role.name == "Master" else "PADDLE_TRAINER_NUM", 1))
    return variables


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    if request.elastic is None:
        return job_from_command.workers_only(request)
    low, high = request.elastic
    return job_from_command.elastic_workers(request, {"elasticPolicy": {"minReplicas": low, "maxReplicas": high}})


KIND = JobKind(
    kind="PaddleJob",
    framework="paddle",
    spec=Spec,
    roles=(Role("Master", restart_policy="OnFailure"), Role("Worker", restart_policy="OnFailure")),
    leaders=("Master", "Worker"),
    pods=PodConfig(env, CONTAINER, PORT),
    dependents=autoscaling.dependents("PaddleJob"),
    lifecycle=Lifecycle(fixed_size=lambda job: job.spec.elastic_policy is None),
    reporting=Reporting(
        messages=lambda job: PLAIN if "Master" in job.roles else QUALIFIED,
        ttl_event="SuccessfulDeletePod",
    ),
    crd=CRD(scalable=True),
    from_command=from_command,
)
