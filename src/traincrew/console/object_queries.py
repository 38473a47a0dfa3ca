"""Reads the details of a replica, the YAML of a job and the nodes."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader
from traincrew.console.contract.cluster import NodeList
from traincrew.console.contract.jobs import ReplicaDetail, YamlDocument
from traincrew.console.job_reader import JobAddress
from traincrew.console.view import job_details, nodes, pod_details, replicas, reruns
from traincrew.console.view import pods as shown_pods
from traincrew.inspection import evidence_query
from traincrew.kinds import KINDS
from traincrew.model import resources
from traincrew.model.resources import Resource

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


async def replica(client: RemoteClient, job: JobAddress, name: str) -> ReplicaDetail:
    found = await job_reader.read(client, job)
    shown = next((each for each in replicas.of_job(found.observed, found.pods) if each.name == name), None)
    if shown is None:
        known = ", ".join(each.name for each in replicas.of_job(found.observed, found.pods)[:20]) or "none"
        raise errors.NoJob(f"{job.reference} has no replica {name!r}. Its replicas: {known}.")
    if not shown.pod:
        return ReplicaDetail(replica=shown, containers=[], events=[], yaml="")
    pod = msgspec.json.decode(await client.get(resources.PODS, job.namespace, shown.pod))
    listed = await evidence_query.events_of(client, job.namespace, shown.pod, shown.uid)
    return ReplicaDetail(
        replica=shown,
        containers=pod_details.containers(pod),
        events=job_details.event_messages(found.observed, found.pods, listed),
        yaml=_yaml(_without_managed_fields(pod)),
    )


async def job_yaml(client: RemoteClient, job: JobAddress) -> YamlDocument:
    document = msgspec.json.decode(await client.get(job.kind.resource, job.namespace, job.name))
    return YamlDocument(yaml=_yaml(_without_managed_fields(document)), submitted=_yaml(reruns.manifest(document)))


def _without_managed_fields(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {key: value for key, value in document["metadata"].items() if key != "managedFields"}}


def _yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=130)
    return text


async def node_list(client: RemoteClient) -> NodeList:
    listed = [item async for page in client.pages(NODES, None) for item in page.items]
    pods = [shown_pods.decode(item) async for page in client.pages(resources.PODS, None) for item in page.items]
    kinds = {each.controller: kind.singular for kind in KINDS for each in (kind, *kind.variants.values())}
    return NodeList(nodes=[nodes.node(raw, pods, kinds) for raw in listed])
