"""Lists that are converted to another format are encoded in chunks: the chunks add up to the whole."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.embedded.resilience import in_process_cluster
from tests.embedded.resilience.cluster_process import config_map

from traincrew.apimachinery import api_errors
from traincrew.embedded import daemon
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.endpoints import reads
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.control_plane import ControlPlane
from traincrew.model.resources import CONFIG_MAPS

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
async def cluster(tmp_path: pathlib.Path) -> AsyncIterator[ControlPlane]:
    async with daemon.run(in_process_cluster.options(tmp_path / "data")) as running:
        running.control_plane.cluster.clock = lambda: NOW
        yield running.control_plane


def list_request(cluster: ControlPlane, accept: str, query: Query | None = None) -> ApiRequest:
    info = cluster.registry.find("", "v1", "configmaps")
    assert info
    user = users.User("somebody", (users.MASTERS,))
    return ApiRequest(user, "list", info, "default", query=query or Query({"labelSelector": ["many=yes"]}), accept=accept)


async def create(cluster: ControlPlane, count: int) -> None:
    client = cluster.system_client("test")
    for each in range(count):
        body = json.loads(config_map(f"m{each:03d}"))
        body["metadata"]["labels"] = {"many": "yes"}
        await client.create(CONFIG_MAPS, "default", json.dumps(body).encode())


@pytest.mark.parametrize("count", [0, 1, reads.ROWS_PER_CHUNK, reads.ROWS_PER_CHUNK + 1, reads.ROWS_PER_CHUNK * 2 + 1])
@pytest.mark.parametrize("accept", [TABLE, METADATA])
async def test_the_chunks_of_a_long_list_add_up_to_the_whole(cluster: ControlPlane, accept: str, count: int) -> None:
    await create(cluster, count)
    call = list_request(cluster, accept)
    records = await cluster.handler.list_records(call)
    values = [record.value for record in records.records]
    assert len(values) == count
    if accept == TABLE:
        table = tables.table(call.info, values, include="Metadata", now=NOW, list_metadata=records.metadata())
    else:
        table = partial_metadata.metadata_list(call.info, values, "v1", records.metadata())
    parts = b"".join((await cluster.handler.list_chunks(call)).parts)
    assert parts == msgspec.json.encode(table) + b"\n"


async def test_a_list_that_cannot_become_a_table_is_rejected_before_the_first_chunk(cluster: ControlPlane) -> None:
    await create(cluster, reads.ROWS_PER_CHUNK + 1)
    call = list_request(cluster, TABLE, Query({"includeObject": ["Everything"]}))
    with pytest.raises(api_errors.StatusError, match="includeObject"):
        await cluster.handler.list_chunks(call)
