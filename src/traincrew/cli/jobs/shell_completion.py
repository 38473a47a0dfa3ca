"""Names in the cluster, for shell completion."""

from __future__ import annotations

from traincrew.cli import cluster_target
from traincrew.cli.jobs import query
from traincrew.inspection import job_references, observed_job


async def job_names(target_options: cluster_target.TargetOptions) -> list[tuple[str, str, str]]:
    """Kind, name and state of the jobs of the namespace."""
    async with query.connected(target_options) as (client, target):
        found = await job_references.list_jobs(client, target.namespace)
    jobs = query.sort_by_creation(observed_job.observe(each.kind, each.raw) for each in found)
    return [(job.kind.singular, job.job.name, job.state) for job in reversed(jobs)]


async def replica_names(job: str, target_options: cluster_target.TargetOptions) -> list[str]:
    """The replicas of the job, and its roles."""
    async with query.connected(target_options) as (client, target):
        observed, _ = await query.get_job(client, target.namespace, job)
    replicas = [observed.replica(pod) for pod in observed.pods]
    return [*replicas, *dict.fromkeys(role.lower() for role in observed.job.roles)]
