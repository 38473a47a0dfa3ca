"""Reads what explains the state of a job beside the job and its pods: events, the ends of replicas, the use of resources."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib

from traincrew import errors
from traincrew.client.interfaces import LogReader
from traincrew.inspection import (
    advice,
    events,
    explanation,
    failures,
    image_events,
    kueue_admission,
    last_exceptions,
    missing_egress,
    observed_job,
    package_installation,
    replica_ends,
    resource_usage,
    worker_restarts,
)
from traincrew.model import objects, resources, workloads

MAX_PODS_WITH_EVENTS = 10
"""Pods whose events are read. The other pods rarely have a different problem."""


async def read(client: LogReader, job: observed_job.ObservedJob, log_root: pathlib.Path | None = None) -> explanation.Evidence:
    """log_root: the logs of this machine, if the cluster runs on it."""
    recorded, ends, usage, admission, unfinished, restarts = await asyncio.gather(
        _events(client, job),
        replica_ends.read(client, job, log_root),
        _resource_usage(client, job),
        _admission(client, job),
        last_exceptions.read(client, job),
        worker_restarts.read(client, job),
    )
    no_egress = await missing_egress.read(client, job, ends)
    found = explanation.Evidence(
        tuple(recorded), ends, tuple(usage), admission=admission, unfinished=unfinished, restarts=restarts, no_egress=no_egress
    )
    if not failures.missing_module(job, ends) or job.failure is None:
        return found
    directory = advice.directory(image_events.message(recorded, job.failure.pod))
    return dataclasses.replace(found, install_package=package_installation.command(directory))


async def _admission(client: LogReader, job: observed_job.ObservedJob) -> kueue_admission.Admission | None:
    if not job.job.suspended or not kueue_admission.queue(job):
        return None
    meta = job.job.metadata
    listed = client.pages(workloads.WORKLOADS, meta.namespace, labels=f"{workloads.JOB_UID}={meta.uid}")
    try:
        found = [workloads.decode.decode(item) async for page in listed for item in page.items]
    except errors.Forbidden:
        return kueue_admission.Admission(readable=False)
    except errors.NotFound:  # Kueue is not installed
        return kueue_admission.Admission(readable=True)
    return kueue_admission.Admission(readable=True, workload=next(iter(found), None))


async def _resource_usage(client: LogReader, job: observed_job.ObservedJob) -> list[str]:
    """Which jobs use the resources that are insufficient for the pods of the job."""
    insufficient = resource_usage.insufficient_resources(job)
    if not insufficient:
        return []
    try:
        pods = [item async for page in client.pages(resources.PODS, None) for item in page.items]
    except errors.Forbidden:
        return []  # the user may not list the pods of all namespaces
    lines = (line(resource, pods) for resource in insufficient for line in (resource_usage.users_of, resource_usage.leaving))
    return [line for line in dict.fromkeys(lines) if line]


async def _events(client: LogReader, job: observed_job.ObservedJob) -> list[events.ListedEvent]:
    # Pods that do not run come first.
    chosen = sorted(job.pods, key=lambda pod: pod.active)[:MAX_PODS_WITH_EVENTS]
    involved = [job.job.metadata, *(pod.metadata for pod in chosen)]
    lists = await asyncio.gather(*(events_of(client, meta.namespace, meta.name, meta.uid) for meta in involved))
    return [event for recorded in lists for event in recorded]


async def events_of(client: LogReader, namespace: str, name: str, uid: str) -> list[events.ListedEvent]:
    selector = f"involvedObject.name={name},involvedObject.uid={uid}"
    try:
        raw = [item async for page in client.pages(resources.EVENTS, namespace, fields=selector) for item in page.items]
    except (errors.Forbidden, errors.NotFound):
        return []  # events are optional evidence
    return [events.decode(event) for event in raw]


async def image_message(client: LogReader, pod: objects.Pod) -> str:
    """The kubelet's message about the image of the pod; empty if there is none."""
    recorded = await events_of(client, pod.metadata.namespace, pod.name, pod.metadata.uid)
    return image_events.message(recorded, pod.name)
