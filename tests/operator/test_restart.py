"""A restart of the operator: events are neither repeated nor lost."""

from __future__ import annotations

import asyncio
import pathlib

from tests.cluster.manifests import job
from tests.operator.operator_cluster import Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors


async def run_a_job(running: Cluster) -> None:
    await running.create(job("PyTorchJob", Master=1, Worker=1))
    await asyncio.sleep(1)
    for pod in await running.pods():
        await running.set_phase(pod, "Running")
    await asyncio.sleep(2)


@in_virtual_time
async def test_a_restarted_operator_repeats_no_event(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        async with running.operator():
            await run_a_job(running)
        before = await running.events()
        async with running.operator():
            await asyncio.sleep(30)
        assert before
        assert await running.events() == before


@in_virtual_time
async def test_events_that_a_killed_operator_did_not_write_are_written_by_the_next(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path / "reference") as running:
        async with running.operator():
            await run_a_job(running)
        expected = await running.events()
    async with cluster(tmp_path / "killed") as running:
        client = running.faulty_client()
        client.fault = lambda call: errors.Unreachable("away") if call.plural == "events" else None
        task = asyncio.create_task(running.new_operator(client).run(asyncio.Event()))
        await run_a_job(running)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await running.events() == []
        async with running.operator():
            await asyncio.sleep(30)
        assert await running.events() == expected


@in_virtual_time
async def test_events_survive_an_outage_of_minutes(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        client = running.faulty_client()
        client.fault = lambda call: errors.Unreachable("away") if call.plural == "events" and call.time < 300 else None
        async with running.operator(client):
            await run_a_job(running)
            assert await running.events() == []
            await asyncio.sleep(320)
            assert {reason for reason, _ in await running.events()} >= {"SuccessfulCreatePod", "SuccessfulCreateService"}
