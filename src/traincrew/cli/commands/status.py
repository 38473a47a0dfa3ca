"""`traincrew status`: what the cluster of this machine is doing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click

from traincrew import errors
from traincrew.embedded import data_directory

if TYPE_CHECKING:
    from traincrew.client.remote import RemoteClient
    from traincrew.model.resources import Resource


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
def status(data: str, output: str) -> None:
    """Show the state of the cluster on this machine: node, free resources, jobs and pods.

    The exit code is 1 if the cluster is not running. Run `traincrew doctor` to check this machine.
    """
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    found = where.running()
    if found is None:
        _stopped(where, output)
        raise SystemExit(1)
    from traincrew.cli.render import cluster

    told: dict[str, Any] = {"running": True, **found, "data": str(where.data), "kubeconfig": str(where.kubeconfig)}
    told |= asyncio.run(_contents(where, str(found.get("node", ""))))
    click.echo(json.dumps(told, indent=2) if output == "json" else cluster.lines(told))


def _stopped(where: data_directory.DataDirectory, output: str) -> None:
    pid = where.holder()
    if output == "json":
        click.echo(json.dumps({"running": False, "data": str(where.data)}, indent=2))
    elif pid:
        click.echo(f"The cluster in {where.data} is starting or stopping (process {pid}).")
    else:
        click.echo(f"No cluster is running in {where.data}. Run `traincrew up --detach` to start one.")


async def _contents(where: data_directory.DataDirectory, name: str) -> dict[str, Any]:
    """name: of the node that this machine is; empty: it is none."""
    from traincrew.app import operator
    from traincrew.cli.render import cluster
    from traincrew.client.remote import RemoteClient
    from traincrew.kinds import KINDS
    from traincrew.model.resources import PODS, Resource

    nodes = Resource("", "v1", "nodes", "Node", namespaced=False)
    measured = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
    async with RemoteClient(operator.connect(str(where.kubeconfig)), component="status") as client:
        try:
            jobs = {kind.kind: cluster.jobs_by_state(await _all(client, kind.resource)) for kind in KINDS}
            pods = await _raw(client, PODS)
            node = json.loads(await client.get(nodes, None, name)) if name else None
            usage = {each["metadata"]["name"]: each["usage"] for each in await _all(client, measured)}
        except errors.ApiError as error:
            raise errors.NotRunning(f"the cluster does not respond: {error}. See {where.log}.") from error
    return {
        "node": cluster.node(node) if node is not None else None,
        "resources": cluster.resources(node, _asked(pods), usage.get(name, {})) if node is not None else {},
        "jobs": {kind: states for kind, states in jobs.items() if states},
        "pods": cluster.pods_by_phase(json.loads(each) for each in pods),
    }


def _asked(pods: list[bytes]) -> list[dict[str, int]]:
    """What those ask for that have a place and have not ended, as the scheduler counts it."""
    from traincrew.scheduling import pod_info as scheduled

    found = [scheduled.decode(each) for each in pods]
    return [dict(pod.requests) for pod in found if pod.spec.node_name and not pod.finished]


async def _raw(client: RemoteClient, resource: Resource) -> list[bytes]:
    return [bytes(item) async for page in client.pages(resource, None) for item in page.items]


async def _all(client: RemoteClient, resource: Resource) -> list[dict[str, Any]]:
    return [json.loads(item) for item in await _raw(client, resource)]
