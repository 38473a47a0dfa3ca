"""What the cluster has, and what the console can do there."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Collection

import msgspec

import traincrew
from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import access, cluster_queries, history_reader
from traincrew.console.contract.cluster import Capabilities, Feature, FeatureName, KindInfo
from traincrew.console.settings import ConsoleTarget
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, resources
from traincrew.validation import crds


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


class _Name(msgspec.Struct):
    name: str = ""


class _Names(msgspec.Struct):
    resources: list[_Name] = []


NO_CLUSTER = "this console shows recordings: it has no cluster"


def without_cluster() -> Capabilities:
    """Of a console that shows recording files, and nothing else."""
    names: tuple[FeatureName, ...] = typing.get_args(FeatureName)
    return Capabilities(
        version=traincrew.__version__,
        mode="recording",
        context="",
        server="",
        server_version="",
        user="",
        namespace="",
        namespaces=[],
        kinds=[_kind(kind, frozenset()) for kind in KINDS],
        features=[Feature(name=each, available=False, reason=NO_CLUSTER) for each in names],
    )


async def read(client: RemoteClient, target: ConsoleTarget) -> Capabilities:
    if not target.has_cluster:
        return without_cluster()
    version, user, namespaces, served, groups = await asyncio.gather(
        _server_version(client),
        access.user_name(client),
        _namespaces(client),
        _served(client),
        cluster_queries.served_groups(client),
    )
    return Capabilities(
        version=traincrew.__version__,
        mode="embedded" if target.embedded else "cluster",
        context=target.context,
        server=target.server,
        server_version=version,
        user=user,
        namespace=target.namespace,
        namespaces=namespaces,
        kinds=[_kind(kind, served) for kind in KINDS],
        features=_features(groups, history_reader.missing(target.history, embedded=target.embedded)),
    )


def _features(groups: Collection[str], no_history: str) -> list[Feature]:
    """no_history: why there is none."""
    missing: dict[FeatureName, str] = {"history": no_history} if no_history else {}
    if not {cluster_queries.KUEUE, cluster_queries.VOLCANO} & set(groups):
        missing["queues"] = cluster_queries.NO_QUEUES
    names: tuple[FeatureName, ...] = typing.get_args(FeatureName)
    return [Feature(name=each, available=each not in missing, reason=missing.get(each, "")) for each in names]


def _kind(kind: JobKind, served: frozenset[str]) -> KindInfo:
    return KindInfo(
        kind=kind.singular,
        kind_name=kind.kind,
        api_versions=[f"{jobs.GROUP}/{version}" for version in crds.versions(kind)],
        replicas_field=kind.replicas_field,
        roles=[role.name for role in kind.roles],
        installed=kind.plural in served,
        scalable=kind.crd.scalable,
    )


async def _server_version(client: RemoteClient) -> str:
    return msgspec.json.decode(await client.fetch("/version"), type=_Version).git_version


async def _namespaces(client: RemoteClient) -> list[str]:
    try:
        listed = [item async for page in client.pages(resources.NAMESPACES, None) for item in page.items]
    except errors.Forbidden:
        return []
    return sorted(str(msgspec.json.decode(each)["metadata"]["name"]) for each in listed)


async def _served(client: RemoteClient) -> frozenset[str]:
    try:
        raw = await client.fetch(f"/apis/{jobs.GROUP}/v1")
    except errors.NotFound:
        return frozenset()
    return frozenset(each.name for each in msgspec.json.decode(raw, type=_Names).resources)
