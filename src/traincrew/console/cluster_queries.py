"""Reads the nodes, and the queues of Kueue or Volcano, as far as the user may."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console.contract.cluster import NodeList
from traincrew.console.contract.queues import Queue, QueueList
from traincrew.console.view import nodes, queues, usage
from traincrew.console.view import pods as shown_pods
from traincrew.kinds import KINDS
from traincrew.model import resources
from traincrew.model.resources import NODES, Resource

NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
KUEUE, VOLCANO = "kueue.x-k8s.io", "scheduling.volcano.sh"
NO_QUEUES = "the cluster has no queue system. Install Kueue or Volcano to see queues."


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str = ""
    preferred_version: _Version = msgspec.field(default_factory=_Version)


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


async def served_groups(client: RemoteClient) -> dict[str, str]:
    """API groups with their preferred versions."""
    found = msgspec.json.decode(await client.fetch("/apis"), type=_Groups)
    return {each.name: each.preferred_version.version for each in found.groups}


async def node_list(client: RemoteClient, namespace: str) -> NodeList:
    """namespace: whose pods are read if the user may not list those of all namespaces."""
    notes = list[str]()
    stored, existing, measured = await asyncio.gather(
        listed(client, NODES), pods(client, namespace, notes), optional(client, NODE_METRICS, None, "their usage", notes)
    )
    kinds = {each.controller: kind.singular for kind in KINDS for each in (kind, *kind.variants.values())}
    used = {each.metadata.name: each.usage for each in map(usage.decode, measured)}
    shown = [shown_pods.decode(item) for item in existing]
    return NodeList(nodes=[nodes.node(raw, shown, kinds, used) for raw in stored], notes=notes)


async def pods(client: RemoteClient, namespace: str, notes: list[str]) -> list[bytes]:
    try:
        return await listed(client, resources.PODS)
    except errors.Forbidden as error:
        notes.append(f"Requests and devices of other namespaces than {namespace} are missing: {error.message}")
    return await optional(client, resources.PODS, namespace, "requests and devices", notes)


async def queue_list(client: RemoteClient) -> QueueList:
    groups, notes = await served_groups(client), list[str]()
    found = list[Queue]()
    if KUEUE in groups:
        found += await _kueue(client, groups[KUEUE], notes)
    if VOLCANO in groups:
        found += await _volcano(client, groups[VOLCANO], notes)
    return QueueList(queues=found, unavailable="" if {KUEUE, VOLCANO} & groups.keys() else NO_QUEUES, notes=notes)


async def _kueue(client: RemoteClient, version: str, notes: list[str]) -> list[Queue]:
    local, cluster, workloads = await asyncio.gather(
        optional(client, Resource(KUEUE, version, "localqueues", "LocalQueue"), None, "queues", notes),
        optional(client, Resource(KUEUE, version, "clusterqueues", "ClusterQueue", namespaced=False), None, "quotas", notes),
        optional(client, Resource(KUEUE, version, "workloads", "Workload"), None, "jobs in queues", notes),
    )
    quotas = {each.metadata.name: each for each in (queues.queue_decoder.decode(raw)[0] for raw in cluster)}
    waiting = [queues.workload_decoder.decode(raw)[0] for raw in workloads]
    stored = [queues.queue_decoder.decode(raw)[0] for raw in local]
    return [queues.kueue(each, quotas.get(each.spec.cluster_queue), waiting) for each in stored]


async def _volcano(client: RemoteClient, version: str, notes: list[str]) -> list[Queue]:
    stored, groups = await asyncio.gather(
        optional(client, Resource(VOLCANO, version, "queues", "Queue", namespaced=False), None, "queues", notes),
        optional(client, Resource(VOLCANO, version, "podgroups", "PodGroup"), None, "jobs in queues", notes),
    )
    waiting = [queues.workload_decoder.decode(raw)[0] for raw in groups]
    return [queues.volcano(queues.queue_decoder.decode(raw)[0], waiting) for raw in stored]


async def listed(client: RemoteClient, resource: Resource, namespace: str | None = None) -> list[bytes]:
    return [item async for page in client.pages(resource, namespace) for item in page.items]


async def optional(client: RemoteClient, resource: Resource, namespace: str | None, what: str, notes: list[str]) -> list[bytes]:
    """The objects; none, with a note, if the user may not list them or the cluster does not serve them."""
    try:
        return await listed(client, resource, namespace)
    except (errors.Forbidden, errors.NotFound, errors.ServerError) as error:
        notes.append(f"{what[0].upper()}{what[1:]} cannot be read: {error.message}")
    return []
