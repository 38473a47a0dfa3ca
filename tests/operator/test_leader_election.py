"""Leader election: one operator acts at a time, and one that cannot renew its lease stops."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import Cluster, FaultyClient, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.operator.run import LeadershipLost

ELECTION = settings.Election(enabled=True, namespace="kube-system")
OPTIONS = settings.Operator(metrics_address="0", health_address="0", election=ELECTION)


class Candidate:
    def __init__(self, running: Cluster) -> None:
        self.client, self.lease, self._stop = running.faulty_client(), running.faulty_client(), asyncio.Event()
        self.task = asyncio.create_task(running.new_operator(self.client, OPTIONS, self.lease).run(self._stop))

    def cut_off(self) -> None:
        """Its requests for the lease no longer reach the API server."""
        self.lease.fault = lambda call: errors.Unreachable("no route to host")

    async def stop(self) -> None:
        self._stop.set()
        await self.task


@contextlib.asynccontextmanager
async def candidate(running: Cluster) -> AsyncIterator[Candidate]:
    started = Candidate(running)
    try:
        yield started
    finally:
        started.task.cancel()
        await asyncio.gather(started.task, return_exceptions=True)


def writes(client: FaultyClient) -> list[float]:
    return [call.time for call in client.calls if call.verb != "get"]


@in_virtual_time
async def test_a_second_operator_waits_and_takes_over_when_the_first_stops(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, candidate(running) as first:
        await asyncio.sleep(1)
        async with candidate(running) as second:
            await asyncio.sleep(60)
            await running.create(job("PyTorchJob", "a", Master=1))
            await asyncio.sleep(1)
            assert writes(first.client)
            assert not writes(second.client)
            await first.stop()
            await asyncio.sleep(ELECTION.retry_seconds + 1)
            await running.create(job("PyTorchJob", "b", Master=1))
            await asyncio.sleep(1)
            assert "b-master-0" in await running.pods()


@in_virtual_time
async def test_a_leader_that_cannot_renew_stops_before_another_may_begin(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, candidate(running) as first:
        await asyncio.sleep(1)
        async with candidate(running) as second:
            await running.create(job("PyTorchJob", "a", Master=1))
            await asyncio.sleep(10)
            cut = asyncio.get_running_loop().time()
            first.cut_off()
            with pytest.raises(LeadershipLost):
                await first.task
            stopped = asyncio.get_running_loop().time()
            # Counted from the last renewal before the cut; then the release of the lease is tried for some seconds.
            assert stopped - cut <= ELECTION.renew_seconds * 1.5
            await running.create(job("PyTorchJob", "b", Master=1))
            await asyncio.sleep(ELECTION.lease_seconds + ELECTION.retry_seconds + 1)
            assert "b-master-0" in await running.pods()
            assert max(writes(first.client)) < min(writes(second.client))


@in_virtual_time
async def test_a_short_outage_does_not_lose_leadership(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, candidate(running) as leader:
        await asyncio.sleep(5)
        leader.cut_off()
        await asyncio.sleep(ELECTION.renew_seconds / 2)
        leader.lease.fault = lambda call: None
        await asyncio.sleep(60)
        assert not leader.task.done()
