"""XGBoostJob: XGBoost and LightGBM with a tracker on the master."""

from __future__ import annotations

import msgspec

from traincrew.kinds import job_from_command, validation_rules
from traincrew.kinds.kind import Fault, JobKind, Manifest, Replica, Role, Rule, port_number, var
from traincrew.model import jobs, naming

CONTAINER = "xgboost"
PORT = ("xgboostjob-port", 9999)


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="xgbReplicaSpecs", default=None)


def env(replica: Replica) -> list[Manifest]:
    job = replica.job
    rank = replica.index + (job.count("Master") if replica.role.name == "Worker" else 0)
    found = [
        var("MASTER_PORT", port_number(job, "Master", CONTAINER, PORT)),
        var("MASTER_ADDR", naming.replica(job.name, "Master", 0)),
        var("WORLD_SIZE", job.total),
        var("RANK", rank),
        var("PYTHONUNBUFFERED", 1),
    ]
    if job.total > 1:
        workers = ",".join(naming.replica(job.name, "Worker", index) for index in range(job.total - 1))
        port = port_number(job, "Worker", CONTAINER, PORT)
        found += [var("WORKER_PORT", port), var("WORKER_ADDRS", workers)]
    return found


def validate(job: jobs.Job) -> list[Fault]:
    if "Master" not in job.roles:
        return [Fault(path=validation_rules.replica_path(KIND, "Master"), message="must be present", type="Required")]
    return [
        Fault(path=at, message=f"must be 1, got {count}", type="Forbidden")
        for at, count in validation_rules.counts(KIND, job, "Master")
        if count != 1
    ]


KIND = JobKind(
    kind="XGBoostJob",
    plural="xgboostjobs",
    framework="xgboost",
    spec=Spec,
    replicas_field="xgbReplicaSpecs",
    roles=(Role("Master"), Role("Worker", shared_port=True)),
    leaders=("Master",),
    container=CONTAINER,
    port=PORT,
    env=env,
    validate=validate,
    running_before_end=True,
    sketch=lambda wish: job_from_command.led_by("Master", wish),
    rules=(
        Rule(
            at="replicas",
            cel="self.exists(k, k.lowerAscii() == 'master')",
            message="Master must be present",
        ),
        validation_rules.counted("Master", "== 1", "must be 1"),
    ),
)
