"""JAXJob: jax.distributed with the coordinator on worker 0."""

from __future__ import annotations

import msgspec

from traincrew.kinds.condition_messages import QUALIFIED
from traincrew.kinds.kind import JobKind, Manifest, Replica, Role, port_number, var
from traincrew.model import jobs, naming

CONTAINER = "jax"
PORT = ("jaxjob-port", 6666)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="jaxReplicaSpecs", default=None)


def env(replica: Replica) -> list[Manifest]:
    job = replica.job
    return [
        var("PYTHONUNBUFFERED", 1),
        var("COORDINATOR_PORT", port_number(job, "Worker", CONTAINER, PORT)),
        var("COORDINATOR_ADDRESS", naming.replica(job.name, "Worker", 0)),
        var("NUM_PROCESSES", job.total),
        var("PROCESS_ID", replica.index),
    ]


KIND = JobKind(
    kind="JAXJob",
    plural="jaxjobs",
    framework="jax",
    spec=Spec,
    replicas_field="jaxReplicaSpecs",
    roles=(Role("Worker"),),
    leaders=("Worker",),
    container=CONTAINER,
    port=PORT,
    env=env,
    phrases=lambda job: QUALIFIED,
    ttl_event="SuccessfulDeletePod",
    scalable=True,
)
