"""Reads the Python stacks of the replicas of a job: with py-spy from the host, in the container or beside it, or by a signal."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import (
    container_stacks,
    ephemeral_stacks,
    host_stacks,
    latest_job,
    query,
    replica_selection,
    signal_stacks,
)
from traincrew.cli.render import serialization, stacks, terminal
from traincrew.client.remote import RemoteClient
from traincrew.inspection import observed_job
from traincrew.model import objects


@dataclasses.dataclass(frozen=True)
class StacksRequest:
    replica: str = ""
    container: str = ""
    image: str = ""
    """An image with py-spy. Empty: py-spy of this machine or of the container."""
    signal: str = ""
    """The signal for which the program has registered faulthandler. Empty: py-spy."""
    form: str = "text"


@dataclasses.dataclass(frozen=True)
class LocalNode:
    """The node of the cluster on this machine. py-spy sees the processes of its pods, and not those of joined nodes."""

    data: pathlib.Path
    name: str

    def runs(self, pod: objects.Pod) -> bool:
        return pod.spec.node_name == self.name


def local_node(target: cluster_target.ClusterTarget) -> LocalNode | None:
    """None: the cluster does not run on this machine, or has no node here."""
    name = str((target.local.running() or {}).get("node") or "") if target.local is not None else ""
    return LocalNode(target.local.data, name) if target.local is not None and name else None


async def show(name: str, target_options: cluster_target.TargetOptions, request: StacksRequest) -> int:
    """Return 1 if no stack could be read, else 0."""
    if request.signal and request.image:
        raise errors.SettingsError("--signal cannot be used with --image, which uses py-spy")
    async with query.connected(target_options) as (client, target):
        job, _ = await query.get_job(client, target.namespace, name or await latest_job.find(client, target.namespace))
        pods = replica_selection.running_pods(job, request.replica)
        local = local_node(target)
        if local is not None and all(map(local.runs, pods)) and not request.signal and not request.image:
            host_stacks.find_py_spy()  # before the replicas, so that it is said once
        found = await asyncio.gather(*(read(client, job, pod, request, local) for pod in pods))
    _print(found, request.form)
    return 0 if any(process.threads or process.text for each in found for process in each.processes) else 1


async def read(
    client: RemoteClient, job: observed_job.ObservedJob, pod: objects.Pod, request: StacksRequest, local: LocalNode | None
) -> stacks.ReplicaStacks:
    """local: the node of this machine."""
    replica = stacks.ReplicaStacks(job.replica(pod), pod.name)
    position = replica_selection.container(job, pod, request.container)
    try:
        if request.signal:
            processes = await signal_stacks.read(client, position, request.signal)
        elif request.image:
            processes = await ephemeral_stacks.read(client, position, request.image)
        elif local is not None and local.runs(pod):
            processes = await host_stacks.read(local.data, pod.metadata.uid)
        else:
            processes = await container_stacks.read(client, position)
    except (errors.UserError, errors.ApiError) as error:
        return dataclasses.replace(replica, problem=str(error))
    if not processes:
        return dataclasses.replace(replica, problem="the replica has no Python process")
    return dataclasses.replace(replica, processes=tuple(processes))


def _print(found: list[stacks.ReplicaStacks], form: str) -> None:
    if form in ("json", "yaml"):
        serialization.show(stacks.as_json(found), form)
    elif form == "name":
        terminal.echo("\n".join(f"pod/{each.pod}" for each in found))
    else:
        terminal.echo(stacks.text(found).rstrip("\n"))
