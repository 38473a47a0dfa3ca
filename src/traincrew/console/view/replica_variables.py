"""The environment variables that the operator will give each replica of a job, from its manifest."""

from __future__ import annotations

from traincrew import settings
from traincrew.console.contract.replica_variables import JobPassport, Passports, ReplicaPassport
from traincrew.console.view import manifest_jobs, pod_details
from traincrew.inspection import observed_job
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Replica, env_vars

MAX_REPLICAS = 256


def of_manifest(text: str) -> Passports:
    """Raise ManifestError if the manifest has faults."""
    return Passports(jobs=[_passport(each) for each in manifest_jobs.parse(text)])


def _passport(wanted: manifest_jobs.ManifestJob) -> JobPassport:
    kind, job, line = wanted
    replicas = [
        _replica(kind, Replica(job, role, index, settings.Planning()))
        for role in kind.roles
        for index in range(min(job.count(role.name), MAX_REPLICAS))
    ]
    return JobPassport(kind=kind.singular, name=job.name, line=line, replicas=replicas[:MAX_REPLICAS], total=job.total)


def _replica(kind: JobKind, replica: Replica) -> ReplicaPassport:
    variables = env_vars({**kind.pods.default_env(replica), **kind.pods.env(replica)})
    return ReplicaPassport(
        replica=observed_job.replica(replica.job.name, replica.name),
        role=replica.role.name,
        index=replica.index,
        env=[pod_details.variable(each) for each in variables],
    )
