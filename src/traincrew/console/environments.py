"""Lists runtime environments: those of the image maps on one machine, the volume claims that may contain them on a cluster."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import cluster_queries
from traincrew.console.contract.environments import EnvironmentList, RuntimeEnvironment
from traincrew.console.settings import ConsoleTarget, LocalMachine
from traincrew.model.resources import VOLUME_CLAIMS


async def read(client: RemoteClient, target: ConsoleTarget, namespace: str) -> EnvironmentList:
    notes = list[str]()
    if target.machine is not None:
        return EnvironmentList(environments=await _local(target.machine, notes), claims=[], notes=notes)
    listed = await cluster_queries.optional(client, VOLUME_CLAIMS, namespace, "volume claims", notes)
    names = sorted(str(msgspec.json.decode(each)["metadata"]["name"]) for each in listed)
    return EnvironmentList(environments=[], claims=names, notes=notes)


async def _local(machine: LocalMachine, notes: list[str]) -> list[RuntimeEnvironment]:
    try:
        found = await asyncio.to_thread(machine.environments)
    except errors.SettingsError as error:
        notes.append(str(error))
        return []
    images: dict[str, list[str]] = {}
    for each in found:
        images.setdefault(each.directory, []).append(each.image)
    return [RuntimeEnvironment(directory=directory, images=names) for directory, names in images.items()]
