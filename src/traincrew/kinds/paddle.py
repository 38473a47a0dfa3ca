"""PaddleJob: PaddlePaddle, collective (workers only) or with parameter servers (a master)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from traincrew.kinds import autoscaling, elasticity, job_from_command
from traincrew.kinds.condition_messages import qualified_without_master
from traincrew.kinds.kind import CRD, JobKind, Lifecycle, PodConfig, Reporting
from traincrew.kinds.replica import Env, Replica, Role, port_number
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, naming

CONTAINER = "paddle"
PORT = ("master", 36543)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="paddleReplicaSpecs", default=None)
    elastic_policy: Annotated[autoscaling.ElasticPolicy | None, described(autoscaling.POLICY)] = None


def env(replica: Replica) -> Env:
    job = replica.job
    (role,) = KIND.leading(job)
    # The rendezvous host binds its own address; its service name may not resolve yet.
    is_master = replica.role.name == role and replica.index == 0
    master = "$(POD_IP_DUMMY)" if is_master else naming.replica(job.name, role, 0)
    return {
        "PYTHONUNBUFFERED": 1,
        "PADDLE_JOB_ID": job.name,
        "PADDLE_NNODES": job.total,
        "POD_IP_DUMMY": {"fieldRef": {"fieldPath": "status.podIP"}} if is_master else None,
        "PADDLE_MASTER": f"{master}:{port_number(job, role, CONTAINER, PORT)}",
        "PADDLE_SERVER_NUM": 1 if replica.role.name == "Master" else None,
        "PADDLE_TRAINER_NUM": 1 if role == "Master" and replica.role.name == "Worker" else None,
    }


def elastic(job: jobs.Job) -> elasticity.Elasticity:
    return elasticity.Elasticity(
        error="Paddle adapts to a number of workers that changes only with an etcd rendezvous, which is not supported here: "
        "remove the annotation"
    )


def from_command(request: job_from_command.CommandRequest) -> job_from_command.JobOutline:
    if request.elastic is None:
        return job_from_command.workers_only(request)
    if request.idle:
        raise job_from_command.NotElastic  # without etcd
    low, high = request.elastic
    return job_from_command.elastic_workers(request, {"elasticPolicy": {"minReplicas": low, "maxReplicas": high}})


KIND = JobKind(
    kind="PaddleJob",
    framework="paddle",
    modules=("paddle",),
    spec=Spec,
    roles=(Role("Master", restart_policy="OnFailure"), Role("Worker", restart_policy="OnFailure")),
    leaders=("Master", "Worker"),
    pods=PodConfig(env, CONTAINER, PORT),
    dependents=autoscaling.dependents("PaddleJob"),
    lifecycle=Lifecycle(fixed_size=autoscaling.fixed_size, elastic=elastic),
    reporting=Reporting(qualified_without_master, ttl_event="SuccessfulDeletePod"),
    crd=CRD(scalable=True),
    from_command=from_command,
)
