"""Leader election: one operator acts at a time, and one that cannot renew its lease stops."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import pathlib
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import Cluster, FaultyClient, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.model.resources import CRDS
from traincrew.operator.run import LeadershipLost
from traincrew.validation import crds

ELECTION = settings.Election(enabled=True, namespace="kube-system")
PYTORCH = "pytorchjobs.kubeflow.org"
OPTIONS = settings.Operator(metrics_address="0", health_address="0", election=ELECTION)


class Candidate:
    def __init__(self, running: Cluster, reads_schemas: bool) -> None:
        self.client, self.lease, self._stop = running.faulty_client(), running.faulty_client(), asyncio.Event()
        self.operator = running.new_operator(self.client, OPTIONS, self.lease, reads_schemas=reads_schemas)
        self.task = asyncio.create_task(self.operator.run(self._stop))

    def cut_off(self) -> None:
        """Its requests for the lease no longer reach the API server."""
        self.lease.fault = lambda call: errors.Unreachable("no route to host")

    async def stop(self) -> None:
        self._stop.set()
        await self.task


@contextlib.asynccontextmanager
async def candidate(running: Cluster, *, reads_schemas: bool = False) -> AsyncIterator[Candidate]:
    started = Candidate(running, reads_schemas)
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


async def replace_crd(running: Cluster, *, with_why: bool) -> None:
    """with_why: as this version has it; otherwise as an earlier one, without a field that this version writes."""
    stored = msgspec.json.decode(await running.client.get(CRDS, None, PYTORCH))
    stored["spec"] = copy.deepcopy(next(each for each in crds.crds() if each["metadata"]["name"] == PYTORCH)["spec"])
    for version in () if with_why else stored["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["why"]
    await running.client.replace(CRDS, None, PYTORCH, msgspec.json.encode(stored))


@in_virtual_time
async def test_an_operator_of_a_later_version_is_unready_and_leaves_the_lease_alone_until_the_crds_are_updated(
    tmp_path: pathlib.Path,
) -> None:
    async with cluster(tmp_path) as running, candidate(running) as earlier:
        await replace_crd(running, with_why=False)
        await asyncio.sleep(1)
        async with candidate(running, reads_schemas=True) as later:
            await asyncio.sleep(60)
            assert f"{PYTORCH} has no status.why" in later.operator.unready_reason()
            await running.create(job("PyTorchJob", "a", Master=1))
            await asyncio.sleep(1)
            assert "a-master-0" in await running.pods(), "the earlier version still acts"
            await earlier.stop()
            await asyncio.sleep(60)
            assert not writes(later.lease)
            async with candidate(running) as restarted:
                await asyncio.sleep(ELECTION.lease_seconds)
                await running.create(job("PyTorchJob", "b", Master=1))
                await asyncio.sleep(1)
                assert "b-master-0" in await running.pods(), "an earlier version that is started again acts at once"
                await replace_crd(running, with_why=True)
                await asyncio.sleep(60)
                assert later.operator.unready_reason() == ""
                await restarted.stop()
            await asyncio.sleep(ELECTION.retry_seconds + 1)
            await running.create(job("PyTorchJob", "c", Master=1))
            await asyncio.sleep(1)
            assert "c-master-0" in await running.pods()


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
