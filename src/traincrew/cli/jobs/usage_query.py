"""`traincrew top`: reads the usage of jobs, nodes and devices, and shows it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from typing import Any

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import interrupts, live_screen, query
from traincrew.cli.render import serialization, terminal, usage
from traincrew.client import clock, interfaces
from traincrew.client.remote import RemoteClient
from traincrew.inspection import activity_query, measured_usage
from traincrew.model.resources import NODES, PODS, Resource
from traincrew.scheduling import pod_info

NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)


@dataclasses.dataclass(frozen=True)
class TopRequest:
    form: str = "text"
    all_namespaces: bool = False
    once: bool = False
    interval: float = 2.0


async def show(request: TopRequest, target_options: cluster_target.TargetOptions) -> int:
    """Return the exit code after one page, or when the user interrupts."""
    async with query.connected(target_options) as (client, target):
        namespace = None if request.all_namespaces else target.namespace
        if request.form != "text" or request.once or not live_screen.available():
            _print(await read(client, namespace), request)
            return 0
        caught = interrupts.Interrupts()
        with caught.caught(), contextlib.suppress(interrupts.Interrupted):
            await caught.cancel_on_signal(_show_live(client, namespace, request))
    return 0


async def _show_live(client: RemoteClient, namespace: str | None, request: TopRequest) -> None:
    current = await read(client, namespace)

    def draw(columns: int, lines: int) -> str:
        text = usage.text(current, clock.now(), namespaces=request.all_namespaces, columns=columns)
        title = f"traincrew top   {clock.now():%H:%M:%S} UTC   every {request.interval:g} s, q to quit"
        shown = terminal.page(text).splitlines()
        return "\n".join([title, "", *shown[: max(lines - 3, 1)]])

    async def wait() -> None:
        nonlocal current
        await asyncio.sleep(request.interval)
        try:
            current = await read(client, namespace)
        except errors.TemporaryError as error:
            current = dataclasses.replace(current, notes=[f"cannot read the cluster: {error.message}"])

    await live_screen.run(draw, wait)


def _print(current: usage.ClusterUsage, request: TopRequest) -> None:
    if request.form in ("json", "yaml"):
        serialization.show(usage.as_json(current), request.form)
    elif request.form == "name":
        names = (f"{job['kind'].lower()}.kubeflow.org/{job['name']}\n" for job in usage.as_json(current)["jobs"])
        terminal.echo("".join(names), nl=False)
    else:
        page = terminal.page(usage.text(current, clock.now(), namespaces=request.all_namespaces))
        terminal.echo_unchanged(page)


async def read(client: RemoteClient, namespace: str | None) -> usage.ClusterUsage:
    """namespace: of the jobs; None: of all. The holders of devices are read from all namespaces if the user may read them."""
    notes: list[str] = []
    (jobs, _), pods, nodes, pod_metrics, node_metrics = await asyncio.gather(
        query.all_jobs(client, namespace),
        _pods(client, namespace, notes),
        _optional(client, NODES, None, notes),
        _optional(client, activity_query.POD_METRICS, namespace, notes),
        _optional(client, NODE_METRICS, None, notes),
    )
    return usage.ClusterUsage(
        jobs=query.sort_by_creation(jobs),
        pods=[pod_info.decode(raw) for raw in pods],
        nodes=nodes,
        pod_usage=measured_usage.pod_usage(pod_metrics),
        node_usage={each["metadata"]["name"]: measured_usage.parse_usage(each["usage"]) for each in node_metrics},
        notes=list(dict.fromkeys(notes)),
    )


async def _pods(client: interfaces.Reader, namespace: str | None, notes: list[str]) -> list[bytes]:
    try:
        return await _list(client, PODS, None)
    except errors.Forbidden:
        notes.append("You may not list the pods of all namespaces: holders of devices in other namespaces are not shown.")
        return await _list(client, PODS, namespace)


async def _optional(
    client: interfaces.Reader, resource: Resource, namespace: str | None, notes: list[str]
) -> list[dict[str, Any]]:
    """The objects; none with a note if the user may not list them, if the cluster has no metrics server, or if it fails."""
    what = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    try:
        return [json.loads(raw) for raw in await _list(client, resource, namespace)]
    except errors.Forbidden:
        notes.append(f"You may not list {what}: these columns are empty.")
    except errors.NotFound:
        remedy = ": install metrics-server to see CPU and memory" if resource.group == NODE_METRICS.group else ""
        notes.append(f"The cluster does not serve {what}{remedy}.")
    except errors.ServerError as error:
        notes.append(f"{what} cannot be read, these columns are empty: {error.message}")
    return []


async def _list(client: interfaces.Reader, resource: Resource, namespace: str | None) -> list[bytes]:
    return [item async for page in client.pages(resource, namespace) for item in page.items]
