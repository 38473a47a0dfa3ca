"""Reads the details of a replica and the YAML of a job."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew import errors
from traincrew.client.interfaces import LogReader
from traincrew.console import job_reader
from traincrew.console.contract.job_detail import YamlDocument
from traincrew.console.contract.replica_detail import ReplicaDetail
from traincrew.console.job_reader import JobAddress
from traincrew.console.view import job_details, pod_details, replicas, reruns, yaml_text
from traincrew.inspection import evidence_query
from traincrew.model import resources


async def replica(client: LogReader, job: JobAddress, name: str) -> ReplicaDetail:
    found = await job_reader.read(client, job)
    slots = replicas.slots(found.observed, found.pods)
    slot = next((each for each in slots if replicas.name_of(found.observed, each) == name), None)
    if slot is None:
        known = ", ".join(replicas.name_of(found.observed, each) for each in slots[:20]) or "none"
        raise errors.NoJob(f"{job.reference} has no replica {name!r}. Its replicas: {known}.")
    shown = replicas.describe(found.observed, slot)
    if not shown.pod:
        return ReplicaDetail(replica=shown, containers=[], events=[], yaml="")
    pod = msgspec.json.decode(await client.get(resources.PODS, job.namespace, shown.pod))
    listed = await evidence_query.events_of(client, job.namespace, shown.pod, shown.uid)
    return ReplicaDetail(
        replica=shown,
        containers=pod_details.containers(pod),
        events=job_details.event_messages(found.observed, found.pods, listed),
        yaml=yaml_text.of(_without_managed_fields(pod)),
    )


async def job_yaml(client: LogReader, job: JobAddress) -> YamlDocument:
    document = await job_reader.read_document(client, job)
    full = _without_managed_fields(document)
    return YamlDocument(
        yaml=yaml_text.of(full),
        submitted=yaml_text.of(reruns.submitted(document)),
        manifest=yaml_text.of(reruns.manifest(document)),
    )


def _without_managed_fields(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {key: value for key, value in document["metadata"].items() if key != "managedFields"}}
