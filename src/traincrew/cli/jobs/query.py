"""Reads jobs, their pods, events and logs from the API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.client import interfaces
from traincrew.client.remote import RemoteClient
from traincrew.inspection import job_references, observed_job
from traincrew.model import naming, objects, resources


@contextlib.asynccontextmanager
async def connected(
    target_options: cluster_target.TargetOptions,
) -> AsyncIterator[tuple[RemoteClient, cluster_target.ClusterTarget]]:
    target = cluster_target.resolve(target_options)
    try:
        async with RemoteClient(target.connection, component="cli") as client:
            yield client, target
    except errors.Unreachable as error:
        raise errors.Unreachable(error.message + cluster_target.start_hint(target), reason=error.reason) from None
    except errors.Unauthorized as error:
        path = cluster_target.kubeconfig_path(target_options, target)
        remedy = "If its token has expired, log in again, or name another kubeconfig with --kubeconfig."
        raise errors.Unauthorized(f"the API server rejects the credentials in {path}: {error.message}. {remedy}") from None


async def require_namespace(reader: interfaces.Reader, namespace: str) -> None:
    """Raise NotFound if the namespace does not exist. Without permission to read namespaces, nothing is raised."""
    try:
        await reader.get(resources.NAMESPACES, None, namespace)
    except errors.NotFound:
        raise errors.NotFound(
            f'namespace "{namespace}" not found. Run `traincrew ls -A` to list the jobs of all namespaces.'
        ) from None
    except errors.Forbidden:
        return


async def pods(reader: interfaces.Reader, namespace: str | None, labels: str) -> list[objects.Pod]:
    return [
        observed_job.decode_pod(raw)
        async for page in reader.pages(resources.PODS, namespace, labels=labels)
        for raw in page.items
    ]


async def get_job(
    reader: interfaces.Reader, namespace: str, name: str
) -> tuple[observed_job.ObservedJob, job_references.StoredJob]:
    reference = await job_references.find(reader, namespace, name)
    name = observed_job.observe(reference.kind, reference.raw).job.name
    candidates = await pods(reader, namespace, observed_job.selector(name))
    return observed_job.observe(reference.kind, reference.raw, candidates), reference


async def all_jobs(reader: interfaces.Reader, namespace: str | None) -> tuple[list[observed_job.ObservedJob], list[bytes]]:
    """All jobs with their pods, from which the restarts of containers are counted, and the raw jobs."""
    listed, observed_pods = await asyncio.gather(
        job_references.list_jobs(reader, namespace), pods(reader, namespace, naming.JOB_NAME)
    )
    by_job: dict[tuple[str, str], list[objects.Pod]] = {}
    for pod in observed_pods:
        by_job.setdefault((pod.metadata.namespace, pod.metadata.labels.get(naming.JOB_NAME, "")), []).append(pod)
    decoded = [(kind, raw, observed_job.observe(kind, raw).job) for kind, raw in listed]
    jobs = [observed_job.observe(kind, raw, by_job.get((job.namespace, job.name), ())) for kind, raw, job in decoded]
    return jobs, [raw for _, raw in listed]


def sort_by_creation(jobs: Iterable[observed_job.ObservedJob]) -> list[observed_job.ObservedJob]:
    """Sort the newest last, where it is visible on a terminal."""
    return sorted(
        jobs, key=lambda observed: (observed.job.metadata.creation_timestamp is None, observed.job.metadata.creation_timestamp)
    )
