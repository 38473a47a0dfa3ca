"""Reads the state of the cluster on this machine from its API server."""

from __future__ import annotations

import json
from typing import Any

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.cli.render import cluster_status
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.embedded import data_directory
from traincrew.kinds import KINDS
from traincrew.model import naming
from traincrew.model.resources import NODES, PODS, Resource
from traincrew.scheduling import pod_info

NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)


async def read(directory: data_directory.DataDirectory, node_name: str) -> dict[str, Any]:
    """node_name: the node that is this machine; empty if the cluster runs no pods."""
    async with RemoteClient(kubeconfig.load(str(directory.kubeconfig)), component="status") as client:
        try:
            jobs = {kind.kind: cluster_status.jobs_by_state(await _list(client, kind.resource)) for kind in KINDS}
            pods = await _list_raw(client, PODS)
            node = json.loads(await client.get(NODES, None, node_name)) if node_name else None
            usage = {each["metadata"]["name"]: each["usage"] for each in await _list(client, NODE_METRICS)}
        except errors.ApiError as error:
            raise errors.NotRunning(f"the cluster does not respond: {error}. See {directory.log}.") from error
    return {
        "node": cluster_status.node(node) if node is not None else None,
        "resources": cluster_status.resources(node, _requests(pods), usage.get(node_name, {})) if node is not None else {},
        "jobs": {kind: states for kind, states in jobs.items() if states},
        "pods": cluster_status.pods_by_phase(json.loads(each) for each in pods),
    }


def _requests(pods: list[bytes]) -> cluster_status.Requests:
    """The requests of the pods that are not finished, as the scheduler computes them."""
    decoded = [pod for pod in map(pod_info.decode, pods) if not pod.finished]
    scheduled = [pod for pod in decoded if pod.spec.node_name]
    lent = [pod for pod in scheduled if naming.SURPLUS in pod.metadata.labels]
    waiting = [pod for pod in decoded if not pod.spec.node_name and naming.SURPLUS not in pod.metadata.labels]
    return cluster_status.Requests(*([dict(pod.requests) for pod in each] for each in (scheduled, lent, waiting)))


async def _list_raw(client: RemoteClient, resource: Resource) -> list[bytes]:
    return [bytes(item) async for page in client.pages(resource, None) for item in page.items]


async def _list(client: RemoteClient, resource: Resource) -> list[dict[str, Any]]:
    return [json.loads(item) for item in await _list_raw(client, resource)]
