"""JAXJob: jax.distributed with the coordinator on worker 0."""

from __future__ import annotations

import msgspec

from traincrew.kinds.condition_messages import QUALIFIED
from traincrew.kinds.kind import CRD, JobKind, PodConfig, Reporting
from traincrew.kinds.replica import Env, Replica, Role, port_number
from traincrew.model import jobs, naming

CONTAINER = "jax"
PORT = ("jaxjob-port", 6666)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="jaxReplicaSpecs", default=None)


def env(replica: Replica) -> Env:
    job = replica.job
    return {
        "PYTHONUNBUFFERED": 1,
        "COORDINATOR_PORT": port_number(job, "Worker", CONTAINER, PORT),
        "COORDINATOR_ADDRESS": naming.replica(job.name, "Worker", 0),
        "NUM_PROCESSES": job.total,
        "PROCESS_ID": replica.index,
    }


KIND = JobKind(
    kind="JAXJob",
    framework="jax",
    modules=("jax", "flax"),
    spec=Spec,
    roles=(Role("Worker"),),
    leaders=("Worker",),
    pods=PodConfig(env, CONTAINER, PORT),
    reporting=Reporting(messages=lambda job: QUALIFIED, ttl_event="SuccessfulDeletePod"),
    crd=CRD(scalable=True),
)
