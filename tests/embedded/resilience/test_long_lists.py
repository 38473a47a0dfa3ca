"""Lists that are turned into something else are made a part at a time: the parts are what the whole would have been."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.embedded.resilience import played
from tests.embedded.resilience.clusters import config_map

from traincrew.apimachinery import api_errors
from traincrew.embedded import daemon
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.endpoints import reads
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.model.resources import CONFIG_MAPS

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
async def cluster(tmp_path: pathlib.Path) -> AsyncIterator[daemon.Daemon]:
    async with daemon.running(played.options(tmp_path / "data")) as found:
        found.daemon.cluster.clock = lambda: NOW
        yield found.daemon


def asked(cluster: daemon.Daemon, accept: str, query: Query | None = None) -> Request:
    served = cluster.registry.find("", "v1", "configmaps")
    assert served
    user = users.User("somebody", (users.MASTERS,))
    return Request(user, "list", served, "default", query=query or Query({"labelSelector": ["many=yes"]}), accept=accept)


async def made(cluster: daemon.Daemon, count: int) -> None:
    client = cluster.own_client("test")
    for each in range(count):
        body = json.loads(config_map(f"m{each:03d}"))
        body["metadata"]["labels"] = {"many": "yes"}
        await client.create(CONFIG_MAPS, "default", json.dumps(body).encode())


@pytest.mark.parametrize("count", [0, 1, reads.MANY, reads.MANY + 1, reads.MANY * 2 + 1])
@pytest.mark.parametrize("accept", [TABLE, METADATA])
async def test_the_parts_of_a_long_list_are_the_whole(cluster: daemon.Daemon, accept: str, count: int) -> None:
    await made(cluster, count)
    call = asked(cluster, accept)
    records = await cluster.handler.listed(call)
    values = [record.value for record in records.records]
    assert len(values) == count
    if accept == TABLE:
        whole = tables.table(call.info, values, include="Metadata", now=NOW, list_metadata=records.metadata())
    else:
        whole = partial_metadata.many(call.info, values, "v1", records.metadata())
    parts = b"".join((await cluster.handler.pieces(call)).parts)
    assert parts == msgspec.json.encode(whole)


async def test_what_cannot_be_made_into_a_table_is_refused_before_anything_is_sent(cluster: daemon.Daemon) -> None:
    await made(cluster, reads.MANY + 1)
    call = asked(cluster, TABLE, Query({"includeObject": ["Everything"]}))
    with pytest.raises(api_errors.StatusError, match="includeObject"):
        await cluster.handler.pieces(call)
