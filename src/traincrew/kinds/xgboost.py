"""XGBoostJob: XGBoost and LightGBM with a tracker on the master."""

from __future__ import annotations

import msgspec

from traincrew.kinds import job_from_command, validation_rules
from traincrew.kinds.kind import JobKind, PodConfig, Reporting, Validation
from traincrew.kinds.replica import Env, Replica, Role, port_number
from traincrew.model import jobs, naming

CONTAINER = "xgboost"
PORT = ("xgboostjob-port", 9999)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="xgbReplicaSpecs", default=None)


def env(replica: Replica) -> Env:
    job = replica.job
    workers = [naming.replica(job.name, "Worker", index) for index in range(job.total - 1)]
    return {
        "MASTER_PORT": port_number(job, "Master", CONTAINER, PORT),
        "MASTER_ADDR": naming.replica(job.name, "Master", 0),
        "WORLD_SIZE": job.total,
        "RANK": replica.index + (job.count("Master") if replica.role.name == "Worker" else 0),
        "PYTHONUNBUFFERED": 1,
        "WORKER_PORT": port_number(job, "Worker", CONTAINER, PORT) if workers else None,
        "WORKER_ADDRS": ",".join(workers) if workers else None,
    }


KIND = JobKind(
    kind="XGBoostJob",
    framework="xgboost",
    modules=("xgboost",),
    spec=Spec,
    roles=(Role("Master"), Role("Worker", shared_port=True)),
    leaders=("Master",),
    pods=PodConfig(env, CONTAINER, PORT),
    reporting=Reporting(running_before_end=True),
    validation=Validation(rules=(validation_rules.required_role("Master"), validation_rules.exactly_one("Master"))),
    from_command=lambda request: job_from_command.with_leader("Master", request),
)
