"""Reads what the scheduler reads, as far as the user may."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec

from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.console import cluster_queries
from traincrew.console.settings import ConsoleTarget
from traincrew.console.view import scheduling_fit
from traincrew.model import meta, resources
from traincrew.model.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES, Resource
from traincrew.scheduling import gangs, objects, pod_info
from traincrew.scheduling.decisions import Profile, SchedulingContext, single_machine_profile
from traincrew.scheduling.volumes import StorageObjects

_GROUPS = {gangs.VOLCANO: resources.VOLCANO_POD_GROUPS, gangs.PLUGINS: resources.PLUGINS_POD_GROUPS}

T = TypeVar("T", bound=meta.Named)


async def read(client: RemoteClient, target: ConsoleTarget, notes: list[str]) -> scheduling_fit.ObservedCluster:
    """notes: what could not be read is added. Raise Forbidden if the user may not list nodes."""

    async def optional(resource: Resource, kind: type[T], what: str) -> list[T]:
        return _decoded(await cluster_queries.optional(client, resource, None, what, notes), kind)

    nodes, pods, groups = await asyncio.gather(
        cluster_queries.listed(client, resources.NODES),
        cluster_queries.pods(client, target.namespace, notes),
        _pod_groups(client, notes),
    )
    claims, volumes, classes, priorities, namespaces = await asyncio.gather(
        optional(VOLUME_CLAIMS, objects.PersistentVolumeClaim, "claims"),
        optional(VOLUMES, objects.PersistentVolume, "volumes"),
        optional(STORAGE_CLASSES, objects.StorageClass, "storage classes"),
        optional(resources.PRIORITY_CLASSES, objects.PriorityClass, "priority classes"),
        optional(resources.NAMESPACES, objects.PartialObjectMetadata, "namespaces"),
    )
    state = SchedulingContext(
        groups,
        {each.metadata.name: each.value for each in priorities},
        StorageObjects(
            {(each.metadata.namespace, each.metadata.name): each for each in claims},
            {each.metadata.name: each for each in volumes},
            {each.metadata.name: each for each in classes},
        ),
        {each.metadata.name: each.metadata.labels for each in namespaces},
        clock.now(),
    )
    return scheduling_fit.ObservedCluster(
        [pod_info.decode(each) for each in pods], _decoded(nodes, objects.Node), state, _profile(target)
    )


def _profile(target: ConsoleTarget) -> Profile:
    if target.machine is None:
        return Profile()
    return single_machine_profile(target.machine.overcommitted())


async def _pod_groups(client: RemoteClient, notes: list[str]) -> dict[gangs.GangKey, objects.PodGroup]:
    served, found = await cluster_queries.served_groups(client), dict[gangs.GangKey, objects.PodGroup]()
    for system, resource in _GROUPS.items():
        if resource.group in served:
            listed = await cluster_queries.optional(client, resource, None, "pod groups", notes)
            for group in _decoded(listed, objects.PodGroup):
                found[gangs.GangKey(system, group.metadata.namespace, group.metadata.name)] = group
    return found


def _decoded(items: list[Any], kind: type[T]) -> list[T]:
    decode = msgspec.json.Decoder(kind).decode
    return [decode(item) for item in items]
