"""Answers whether a job would be scheduled now, and what if something were different. Nothing is changed."""

from __future__ import annotations

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import cluster_state, job_reader
from traincrew.console.contract.scheduling_fit import Fits, JobFit, PriorityClass, Simulation, WhatIf, WorkerRange
from traincrew.console.job_reader import JobAddress
from traincrew.console.settings import ConsoleTarget
from traincrew.console.view import holders, job_pods, manifest_jobs, scheduling_fit
from traincrew.kinds import elasticity


async def fit(client: RemoteClient, target: ConsoleTarget, text: str, namespace: str) -> Fits:
    """Raise ManifestError if the manifest has faults."""
    wanted, notes = manifest_jobs.parse(text), list[str]()
    if not wanted:
        raise errors.ManifestError("the manifest has no job")
    cluster = await cluster_state.read(client, target, notes)
    return Fits(jobs=scheduling_fit.of_jobs(wanted, cluster, namespace), estimate=target.machine is None, notes=notes)


async def simulate(client: RemoteClient, target: ConsoleTarget, job: JobAddress, wanted: WhatIf) -> Simulation:
    if wanted.workers is not None and not 0 <= wanted.workers <= job_pods.MAX_REPLICAS:
        raise errors.SettingsError(f"workers: {wanted.workers} is not between 0 and {job_pods.MAX_REPLICAS}")
    notes = list[str]()
    document = await job_reader.read_document(client, job)
    document.pop("status", None)
    cluster = await cluster_state.read(client, target, notes)
    priorities = cluster.state.priorities
    if wanted.priority and wanted.priority not in priorities:
        raise errors.SettingsError(f"priority: there is no priority class {wanted.priority!r}")
    remaining = cluster.without(wanted.without)

    def fitted(workers: int | None) -> JobFit:
        changed = scheduling_fit.changed(job.kind, document, workers, wanted.priority)
        return scheduling_fit.of_jobs([manifest_jobs.of_document(job.kind, changed)], remaining, job.namespace)[0]

    own = manifest_jobs.of_document(job.kind, document)
    count = wanted.workers if wanted.workers is not None else own.job.requested(elasticity.ROLE)
    return Simulation(
        fit=fitted(wanted.workers),
        estimate=target.machine is None,
        workers=WorkerRange(
            wanted=count, startable=scheduling_fit.startable(lambda number: fitted(number).verdict == "fits", count)
        )
        if elasticity.ROLE in own.job.roles
        else None,
        priority=_priority(own),
        priority_classes=[
            PriorityClass(name=name, value=priorities[name]) for name in sorted(priorities, key=priorities.__getitem__)
        ],
        holders=holders.others(cluster.pods, f"{job.namespace}/{job.kind.singular}/{job.name}"),
        notes=notes,
    )


def _priority(wanted: manifest_jobs.ManifestJob) -> str:
    names = ((role.parsed.get("spec") or {}).get("priorityClassName") for role in wanted.job.roles.values())
    return next((str(each) for each in names if each), "")
