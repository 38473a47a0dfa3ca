"""A restart of the operator: events are neither repeated nor lost."""

from __future__ import annotations

import asyncio
import pathlib

from tests.cluster.manifests import job
from tests.operator.operator_cluster import Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors


async def run_a_job(found: Cluster) -> None:
    await found.create(job("PyTorchJob", Master=1, Worker=1))
    await asyncio.sleep(1)
    for pod in await found.pods():
        await found.set_phase(pod, "Running")
    await asyncio.sleep(2)


@in_virtual_time
async def test_a_restarted_operator_repeats_no_event(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as found:
        async with found.operator():
            await run_a_job(found)
        before = await found.events()
        async with found.operator():
            await asyncio.sleep(30)
        assert before
        assert await found.events() == before


@in_virtual_time
async def test_events_that_a_killed_operator_did_not_write_are_written_by_the_next(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path / "reference") as found:
        async with found.operator():
            await run_a_job(found)
        wanted = await found.events()
    async with cluster(tmp_path / "killed") as found:
        client = found.faulty_client()
        client.fault = lambda call: errors.Unreachable("away") if call.plural == "events" else None
        task = asyncio.create_task(found.new_operator(client).run(asyncio.Event()))
        await run_a_job(found)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await found.events() == []
        async with found.operator():
            await asyncio.sleep(30)
        assert await found.events() == wanted


@in_virtual_time
async def test_events_survive_an_outage_of_minutes(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as found:
        client = found.faulty_client()
        client.fault = lambda call: errors.Unreachable("away") if call.plural == "events" and call.time < 300 else None
        async with found.operator(client):
            await run_a_job(found)
            assert await found.events() == []
            await asyncio.sleep(320)
            assert {reason for reason, _ in await found.events()} >= {"SuccessfulCreatePod", "SuccessfulCreateService"}
