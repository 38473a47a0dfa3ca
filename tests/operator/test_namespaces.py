"""An operator that watches some namespaces: it serves each of them and no other."""

from __future__ import annotations

import asyncio
import pathlib

import msgspec
from tests.cluster.manifests import job
from tests.operator.operator_cluster import PYTORCH, Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import settings
from traincrew.model.resources import CRDS, EVENTS, PODS, Resource

TWO = settings.Operator(namespaces=("default", "kubeflow"), metrics_address="0", health_address="0")
EVERY = ("default", "kubeflow", "mpi-operator")


async def names(on: Cluster, resource: Resource, namespace: str) -> list[str]:
    pages = on.client.pages(resource, namespace)
    return [msgspec.json.decode(item)["metadata"]["name"] async for page in pages for item in page.items]


@in_virtual_time
async def test_the_jobs_of_each_watched_namespace_and_of_no_other_are_served(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, on.operator(options=TWO):
        for namespace in EVERY:
            await on.client.create(PYTORCH, namespace, msgspec.json.encode(job("PyTorchJob", Master=1)))
        await asyncio.sleep(5)
        assert [await names(on, PODS, namespace) for namespace in EVERY] == [["j-master-0"], ["j-master-0"], []]


@in_virtual_time
async def test_an_operator_that_starts_again_records_no_event_of_any_watched_namespace_twice(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        async with on.operator(options=TWO):
            for namespace in EVERY[:2]:
                await on.client.create(PYTORCH, namespace, msgspec.json.encode(job("PyTorchJob", Master=1)))
            await asyncio.sleep(60)  # a pod that is not scheduled is reported with a delay
        before = [await names(on, EVENTS, namespace) for namespace in EVERY]
        async with on.operator(options=TWO):
            await asyncio.sleep(30)
        assert before[0]
        assert before[1]
        assert [await names(on, EVENTS, namespace) for namespace in EVERY] == before


@in_virtual_time
async def test_missing_crds_are_named_once_though_two_namespaces_are_watched(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        name = f"{PYTORCH.plural}.{PYTORCH.group}"
        operator, stop = on.new_operator(on.faulty_client(), TWO), asyncio.Event()
        task = asyncio.create_task(operator.run(stop))
        await asyncio.sleep(5)
        await on.client.delete(CRDS, None, name)
        await on.client.patch(CRDS, None, name, b'{"metadata":{"finalizers":null}}')
        await asyncio.sleep(5)
        reason = operator.unready_reason()
        stop.set()
        await task
    assert f"CRDs are not installed: {name}. " in reason
